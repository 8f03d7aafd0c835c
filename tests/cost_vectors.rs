//! FnCost gives the numbers that every language gives: `tests/vectors/fncost.csv`, in this build mode.

use ternlease::FnCost;

#[derive(Debug, Clone, Copy)]
enum Argument {
    Number(u64),
    Cost(FnCost),
}

/// Reads one expression, `(sort 3 8 24)`, from the front of the words.
fn evaluate<'a>(words: &mut impl Iterator<Item = &'a str>) -> FnCost {
    let op = words.next().expect("an operation");
    let mut arguments = Vec::new();
    loop {
        match words.next().expect("a closing bracket") {
            ")" => break,
            "(" => arguments.push(Argument::Cost(evaluate(words))),
            number => arguments.push(Argument::Number(number.parse().unwrap())),
        }
    }
    use Argument::{Cost, Number};
    match (op, &arguments[..]) {
        ("new", &[Number(a), Number(b), Number(c), Number(d)]) => FnCost::new(a, b, c, d),
        ("scan", &[Number(n), Number(r)]) => FnCost::scan(n, r),
        ("sort", &[Number(n), Number(b), Number(r)]) => FnCost::sort(n, b, r),
        ("hash", &[Number(n)]) => FnCost::hash(n),
        ("matmul", &[Number(m), Number(n), Number(k), Number(r)]) => FnCost::matmul(m, n, k, r),
        ("etl", &[Number(n), Number(b), Number(o), Number(r)]) => FnCost::etl(n, b, o, r),
        ("copy", &[Number(s)]) => FnCost::copy(s),
        ("then", &[Cost(a), Cost(b)]) => {
            assert_eq!(a.then(b), a + b);
            a.then(b)
        }
        ("par", &[Cost(a), Cost(b)]) => a.par(b),
        ("both", &[Cost(a), Cost(b)]) => a.both(b),
        ("repeat", &[Cost(a), Number(k)]) => a.repeat(k),
        unknown => panic!("no such expression: {unknown:?}"),
    }
}

#[test]
fn all_vectors() {
    let mut lines = include_str!("vectors/fncost.csv").lines();
    assert_eq!(lines.next(), Some("name,expr,flops,mem_bytes,peak_mem,result_bytes"));
    let mut count = 0;
    for line in lines {
        let fields: Vec<&str> = line.split(',').collect();
        let [name, expression, ref expected @ ..] = fields[..] else { panic!("{line}") };
        let expected: Vec<u64> = expected.iter().map(|field| field.parse().unwrap()).collect();
        let spaced = expression.replace('(', " ( ").replace(')', " ) ");
        let mut words = spaced.split_whitespace();
        assert_eq!(words.next(), Some("("));
        let FnCost { flops, mem_bytes, peak_mem, result_bytes } = evaluate(&mut words);
        assert_eq!([flops, mem_bytes, peak_mem, result_bytes], expected[..], "{name}");
        assert_eq!(words.next(), None, "{name}");
        count += 1;
    }
    assert_eq!(count, 94, "lines may be added, none may be lost");
}

#[test]
fn costs_are_known_when_a_program_is_compiled() {
    const COST: FnCost = FnCost::copy(7).then(FnCost::hash(9)).repeat(2);
    assert_eq!(COST, FnCost::new(36, 32, 4096, 32));
    assert_eq!(FnCost::ZERO.then(COST), COST);
    assert_eq!(COST.intensity(), 36.0 / 32.0);
    assert_eq!(FnCost::ZERO.intensity(), f64::INFINITY);
    assert_eq!(FnCost::new(1, 0, 0, 1 << 8).to_bytes()[..8], 1_u64.to_le_bytes());
}
