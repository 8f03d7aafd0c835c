//! The package `ternlease`: a module of that name, linked with the library that is installed.
//!
//!     zig build test -Dprefix=/opt/ternlease -Dlink=static
const std = @import("std");

const Link = enum { shared, static };

pub fn build(b: *std.Build) void {
    const target = b.standardTargetOptions(.{});
    const optimize = b.standardOptimizeOption(.{});
    const prefix = b.option([]const u8, "prefix", "Where the library is installed; without it: as pkg-config or the system finds it");
    const link = b.option(Link, "link", "Which library to link with: shared (the usual) or static") orelse .shared;

    const ternlease = b.addModule("ternlease", .{
        .root_source_file = b.path("src/ternlease.zig"),
        .target = target,
        .optimize = optimize,
        .link_libc = true,
    });
    linkLibrary(b, ternlease, prefix, link);

    const suite = b.createModule(.{ .root_source_file = b.path("tests/all.zig"), .target = target, .optimize = optimize });
    suite.addImport("ternlease", ternlease);
    for ([_][2][]const u8{
        .{ "layout.def", "../../tests/abi/layout.def" },
        .{ "symbols.txt", "../../tests/abi/symbols.txt" },
        .{ "ternlease.h", "../../include/ternlease.h" },
        .{ "fncost.csv", "../../tests/vectors/fncost.csv" },
    }) |data| suite.addAnonymousImport(data[0], .{ .root_source_file = b.path(data[1]) });
    const tests = b.addTest(.{ .root_module = suite });
    const run = b.addRunArtifact(tests);
    // Every time: they look at the library, the system and the clock.
    run.has_side_effects = true;
    b.step("test", "Run the tests").dependOn(&run.step);
    b.step("test-program", "Build the tests as a program, for tools that watch them").dependOn(&b.addInstallArtifact(tests, .{}).step);

    const examples = b.step("examples", "Build the examples");
    for ([_][]const u8{ "lease", "claim", "notice", "pool", "deadlock", "advice" }) |name|
        install(b, examples, program(b, ternlease, name, b.fmt("examples/{s}.zig", .{name})));

    const bench = b.step("bench", "Build the benchmark");
    install(b, bench, program(b, ternlease, "bench", "bench/bench.zig"));
}

fn linkLibrary(b: *std.Build, module: *std.Build.Module, prefix: ?[]const u8, link: Link) void {
    if (prefix) |path| {
        const lib: std.Build.LazyPath = .{ .cwd_relative = b.pathJoin(&.{ path, "lib" }) };
        module.addLibraryPath(lib);
        module.addRPath(lib);
    }
    module.linkSystemLibrary("ternlease", .{
        .use_pkg_config = if (prefix == null) .yes else .no,
        .preferred_link_mode = if (link == .static) .static else .dynamic,
        .search_strategy = .no_fallback,
    });
    // Rust's panics unwind, with the libunwind that comes with Zig.
    if (link == .static) module.linkSystemLibrary("unwind", .{});
}

fn program(b: *std.Build, ternlease: *std.Build.Module, name: []const u8, source: []const u8) *std.Build.Step.Compile {
    const module = b.createModule(.{
        .root_source_file = b.path(source),
        .target = ternlease.resolved_target,
        .optimize = ternlease.optimize,
    });
    module.addImport("ternlease", ternlease);
    return b.addExecutable(.{ .name = name, .root_module = module });
}

fn install(b: *std.Build, step: *std.Build.Step, made: *std.Build.Step.Compile) void {
    step.dependOn(&b.addInstallArtifact(made, .{}).step);
}
