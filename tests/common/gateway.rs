//! Calls of etcd by its gateway for JSON: what another client does.

use std::io::{Read, Write};
use std::net::{SocketAddrV4, TcpStream};

/// One of etcd's calls; its answer, as JSON.
pub fn call(server: SocketAddrV4, path: &str, body: &str) -> String {
    send(server, "", path, body)
}

/// As [`call`], with the token of a user.
#[allow(dead_code)] // Not every test needs it.
pub fn call_as(server: SocketAddrV4, token: &str, path: &str, body: &str) -> String {
    send(server, &format!("Authorization: {token}\r\n"), path, body)
}

fn send(server: SocketAddrV4, header: &str, path: &str, body: &str) -> String {
    let mut stream = TcpStream::connect(server).unwrap();
    let length = body.len();
    let head = format!("POST /v3/{path} HTTP/1.0\r\nHost: etcd\r\n{header}");
    write!(stream, "{head}Content-Length: {length}\r\n\r\n{body}").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let (status, told) = answer.split_once("\r\n\r\n").unwrap();
    assert!(status.split(' ').nth(1) == Some("200"), "{path}: {answer}");
    told.to_owned()
}

/// As JSON has bytes.
pub fn base64(bytes: &str) -> String {
    const SIGNS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let group = |three: &[u8]| {
        let bits = three.iter().fold(0, |bits, byte| bits << 8 | u32::from(*byte));
        let bits = bits << (8 * (3 - three.len()));
        let sign = |place: usize| match place <= three.len() {
            true => SIGNS[(bits >> (18 - 6 * place) & 63) as usize] as char,
            false => '=',
        };
        [sign(0), sign(1), sign(2), sign(3)]
    };
    bytes.as_bytes().chunks(3).flat_map(group).collect()
}
