//! How messages travel: which call each one is for, and how tonic encodes it.

use std::marker::PhantomData;
use std::time::Duration;

use http::uri::PathAndQuery;
use prost::Message;
use tokio::time::timeout;
use tokio_stream::wrappers::ReceiverStream;
use tonic::client::Grpc;
use tonic::codec::{Codec, DecodeBuf, Decoder, EncodeBuf, Encoder};
use tonic::transport::Channel;
use tonic::{Request, Status, Streaming};

use super::error::{Failure, chain};
use super::messages::*;

/// A request, which call it is for, and what answers it.
pub(super) trait Call: Message + Clone + Default + 'static {
    type Answer: Message + Default + 'static;
    const PATH: &'static str;
}

macro_rules! calls {
    ($($request:ty => $answer:ty, $path:literal;)*) => {
        $(impl Call for $request {
            type Answer = $answer;
            const PATH: &'static str = concat!("/etcdserverpb.", $path);
        })*
    };
}

calls! {
    RangeRequest => RangeResponse, "KV/Range";
    TxnRequest => TxnResponse, "KV/Txn";
    WatchRequest => WatchResponse, "Watch/Watch";
    LeaseGrantRequest => LeaseGrantResponse, "Lease/LeaseGrant";
    LeaseRevokeRequest => LeaseRevokeResponse, "Lease/LeaseRevoke";
    LeaseKeepAliveRequest => LeaseKeepAliveResponse, "Lease/LeaseKeepAlive";
    StatusRequest => StatusResponse, "Maintenance/Status";
    AuthenticateRequest => AuthenticateResponse, "Auth/Authenticate";
}

#[cfg(test)]
calls! {
    LeaseTimeToLiveRequest => LeaseTimeToLiveResponse, "Lease/LeaseTimeToLive";
}

/// Encodes the requests of a call, and decodes its answers.
pub(super) struct CallCodec<C>(PhantomData<fn(C)>);

impl<C> Default for CallCodec<C> {
    fn default() -> Self {
        CallCodec(PhantomData)
    }
}

impl<C: Call> Codec for CallCodec<C> {
    type Encode = C;
    type Decode = C::Answer;
    type Encoder = Self;
    type Decoder = Self;

    fn encoder(&mut self) -> Self {
        Self::default()
    }

    fn decoder(&mut self) -> Self {
        Self::default()
    }
}

impl<C: Call> Encoder for CallCodec<C> {
    type Item = C;
    type Error = Status;

    fn encode(&mut self, item: C, buffer: &mut EncodeBuf<'_>) -> Result<(), Status> {
        item.encode(buffer).map_err(|error| Status::internal(error.to_string()))
    }
}

impl<C: Call> Decoder for CallCodec<C> {
    type Item = C::Answer;
    type Error = Status;

    fn decode(&mut self, buffer: &mut DecodeBuf<'_>) -> Result<Option<C::Answer>, Status> {
        let decoded = C::Answer::decode(buffer);
        decoded.map(Some).map_err(|error| Status::internal(error.to_string()))
    }
}

/// As much as a server may say at once: what etcd's own client takes.
const LARGEST_ANSWER: usize = i32::MAX as usize;

/// Sends a request, and waits for its answer.
pub(super) async fn send<C: Call>(
    channel: &Channel,
    request: Request<C>,
    limit: Duration,
) -> Result<C::Answer, Failure> {
    within(limit, async {
        let mut grpc = ready(channel).await?;
        let path = PathAndQuery::from_static(C::PATH);
        Ok(grpc.unary(request, path, CallCodec::<C>::default()).await?.into_inner())
    })
    .await
}

/// Begins a call that goes on in both directions.
pub(super) async fn begin<C: Call>(
    channel: &Channel,
    request: Request<ReceiverStream<C>>,
    limit: Duration,
) -> Result<Streaming<C::Answer>, Failure> {
    within(limit, async {
        let mut grpc = ready(channel).await?;
        let path = PathAndQuery::from_static(C::PATH);
        Ok(grpc.streaming(request, path, CallCodec::<C>::default()).await?.into_inner())
    })
    .await
}

async fn ready(channel: &Channel) -> Result<Grpc<Channel>, Failure> {
    let mut grpc = Grpc::new(channel.clone()).max_decoding_message_size(LARGEST_ANSWER);
    grpc.ready().await.map_err(|error| Failure::NotHere(chain(&error)))?;
    Ok(grpc)
}

async fn within<T>(
    limit: Duration,
    work: impl Future<Output = Result<T, Failure>>,
) -> Result<T, Failure> {
    timeout(limit, work).await.unwrap_or_else(|_| Err(Failure::silence()))
}
