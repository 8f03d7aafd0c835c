module github.com/ternlease/ternlease/bindings/go

go 1.22
