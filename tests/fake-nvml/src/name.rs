//! The names of functions, and how scripts and tests abbreviate them. Tests use this file, too.

/// Does `wanted` mean this function? `GetMemoryInfo` means all versions of `nvmlDeviceGetMemoryInfo`, `GetMemoryInfo_v2` only that.
pub fn means(wanted: &str, function: &str) -> bool {
    let short = function
        .strip_prefix("nvmlDevice")
        .or_else(|| function.strip_prefix("nvml"))
        .unwrap_or(function);
    let any_version = match short.rsplit_once("_v") {
        Some((name, version)) if version.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => short,
    };
    [function, short, any_version].contains(&wanted)
        || (wanted == "Init" && short == "InitWithFlags")
}
