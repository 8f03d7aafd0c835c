//! The driver for Zig, a package of its own that depends on the binding as any other program would.
const std = @import("std");

pub fn build(b: *std.Build) void {
    const target = b.standardTargetOptions(.{});
    const optimize = b.standardOptimizeOption(.{});
    const prefix = b.option([]const u8, "prefix", "Where the library is installed") orelse @panic("say -Dprefix=...");
    const ternlease = b.dependency("ternlease", .{ .target = target, .optimize = optimize, .prefix = prefix });

    const module = b.createModule(.{ .root_source_file = b.path("src/main.zig"), .target = target, .optimize = optimize });
    module.addImport("ternlease", ternlease.module("ternlease"));
    b.installArtifact(b.addExecutable(.{ .name = "driver", .root_module = module }));
}
