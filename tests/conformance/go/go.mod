module github.com/ternlease/ternlease/tests/conformance/go

go 1.22

require github.com/ternlease/ternlease/bindings/go v0.0.0

replace github.com/ternlease/ternlease/bindings/go => ../../../bindings/go
