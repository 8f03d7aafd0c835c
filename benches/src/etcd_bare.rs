//! A bare transaction from Rust: one call by tonic, on a runtime in the thread that calls, with the few messages that it takes.

use std::marker::PhantomData;

use http::uri::PathAndQuery;
use prost::Message;
use tokio::runtime::{Builder, Runtime};
use tonic::client::Grpc;
use tonic::codec::{Codec, DecodeBuf, Decoder, EncodeBuf, Encoder};
use tonic::transport::{Channel, Endpoint};
use tonic::{Request, Status};

use crate::host_place::Problem;

/// As large as what a change of a table comes to.
const VALUE: [u8; 200] = [b'x'; 200];

const KEY: &[u8] = b"/bare/rust";

/// A connection, and a key that nobody else changes.
pub struct Bare {
    runtime: Runtime,
    channel: Channel,
    /// Of the last change of the key.
    revision: i64,
}

impl Bare {
    pub fn connect(endpoint: &str) -> Result<Bare, Problem> {
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let endpoint = Endpoint::from_shared(format!("http://{endpoint}"))?;
        let channel = runtime.block_on(endpoint.connect())?;
        let mut bare = Bare { runtime, channel, revision: 0 };
        let told = bare.call::<Put, PutTold>("/etcdserverpb.KV/Put", put())?;
        bare.revision = told.header.map_or(0, |header| header.revision);
        Ok(bare)
    }

    /// One compare-and-swap: what a change of a table cannot do without.
    pub fn txn(&mut self) -> Result<(), Problem> {
        let unchanged = Compare { target: MOD_REVISION, key: KEY.into(), revision: self.revision };
        let then = Op { put: Some(put()) };
        let txn = Txn { compare: vec![unchanged], then: vec![then] };
        let told = self.call::<Txn, TxnTold>("/etcdserverpb.KV/Txn", txn)?;
        if !told.succeeded {
            return Err("somebody else has changed the key of the bare transaction".into());
        }
        self.revision = told.header.map_or(0, |header| header.revision);
        Ok(())
    }

    fn call<Q, A>(&self, path: &'static str, request: Q) -> Result<A, Problem>
    where
        Q: Message + 'static,
        A: Message + Default + 'static,
    {
        let mut grpc = Grpc::new(self.channel.clone());
        self.runtime.block_on(async {
            grpc.ready().await?;
            let path = PathAndQuery::from_static(path);
            let call = grpc.unary(Request::new(request), path, Plain::<Q, A>(PhantomData)).await;
            Ok(call?.into_inner())
        })
    }
}

fn put() -> Put {
    Put { key: KEY.into(), value: VALUE.into() }
}

#[derive(Clone, PartialEq, Message)]
struct Header {
    #[prost(int64, tag = "3")]
    revision: i64,
}

#[derive(Clone, PartialEq, Message)]
struct Put {
    #[prost(bytes = "vec", tag = "1")]
    key: Vec<u8>,
    #[prost(bytes = "vec", tag = "2")]
    value: Vec<u8>,
}

#[derive(Clone, PartialEq, Message)]
struct PutTold {
    #[prost(message, optional, tag = "1")]
    header: Option<Header>,
}

const MOD_REVISION: i32 = 2;

#[derive(Clone, PartialEq, Message)]
struct Compare {
    #[prost(int32, tag = "2")]
    target: i32,
    #[prost(bytes = "vec", tag = "3")]
    key: Vec<u8>,
    #[prost(int64, tag = "6")]
    revision: i64,
}

#[derive(Clone, PartialEq, Message)]
struct Op {
    #[prost(message, optional, tag = "2")]
    put: Option<Put>,
}

#[derive(Clone, PartialEq, Message)]
struct Txn {
    #[prost(message, repeated, tag = "1")]
    compare: Vec<Compare>,
    #[prost(message, repeated, tag = "2")]
    then: Vec<Op>,
}

#[derive(Clone, PartialEq, Message)]
struct TxnTold {
    #[prost(message, optional, tag = "1")]
    header: Option<Header>,
    #[prost(bool, tag = "2")]
    succeeded: bool,
}

/// How messages become bytes.
struct Plain<Q, A>(PhantomData<fn(Q) -> A>);

impl<Q: Message + 'static, A: Message + Default + 'static> Codec for Plain<Q, A> {
    type Encode = Q;
    type Decode = A;
    type Encoder = Self;
    type Decoder = Self;

    fn encoder(&mut self) -> Self {
        Plain(PhantomData)
    }

    fn decoder(&mut self) -> Self {
        Plain(PhantomData)
    }
}

impl<Q: Message, A> Encoder for Plain<Q, A> {
    type Item = Q;
    type Error = Status;

    fn encode(&mut self, item: Q, buffer: &mut EncodeBuf<'_>) -> Result<(), Status> {
        item.encode(buffer).map_err(|error| Status::internal(error.to_string()))
    }
}

impl<Q, A: Message + Default> Decoder for Plain<Q, A> {
    type Item = A;
    type Error = Status;

    fn decode(&mut self, buffer: &mut DecodeBuf<'_>) -> Result<Option<A>, Status> {
        A::decode(buffer).map(Some).map_err(|error| Status::internal(error.to_string()))
    }
}
