"""A revocation with notice: the holder is told beforehand, saves its work, and gives the GPU back early."""

from ternlease import LeaseManager, LeaseState, Reason


def main() -> None:
    with LeaseManager(ticks=True) as manager:
        lease = manager.acquire("gpu0", "trainer")
        with lease.watch() as watch:
            # What an operator does who empties a machine: everybody has three ticks to leave.
            lease.revoke(Reason.NODE_DRAIN, by="ops", notice=3)
            for notice in watch:
                if notice.state is LeaseState.HELD:
                    print(f"told: gpu0 will be revoked at tick {notice.at}: {notice.reason.name}")
                    print("saves its work and gives gpu0 back")
                    lease.release()
                else:
                    print(f"told: the lease is over: {notice.reason.name}")


if __name__ == "__main__":
    main()
