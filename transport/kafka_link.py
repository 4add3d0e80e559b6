"""Topics of Kafka, from now on. The only home of confluent_kafka."""

from collections.abc import Sequence
from contextlib import suppress

from diorama.schemas.errors import DioramaError, missing_extra

try:
    import confluent_kafka
except ImportError:
    missing_extra("kafka", "speaking to AeroSim over Kafka")

# AeroSim's brokers and consumers take ten megabytes; its own producer stops at one.
MESSAGE_BYTES = 10_000_000
PATIENCE_S = 10.0
KEY = b"diorama"  # the same for all, so that a topic keeps its order


class KafkaLink:
    """A producer, and a consumer that begins at the end of each topic, as AeroSim's do."""

    def __init__(self, endpoint: str, listen: Sequence[str]) -> None:
        self.endpoint = endpoint
        brokers = {"bootstrap.servers": endpoint.removeprefix("kafka://"), "log_level": 2}
        self._producer = confluent_kafka.Producer(
            {
                **brokers,
                "linger.ms": 0,
                "message.max.bytes": MESSAGE_BYTES,
                "queue.buffering.max.messages": 1000,
            }
        )
        self._consumer = confluent_kafka.Consumer(
            {
                **brokers,
                "group.id": "diorama",
                "enable.auto.commit": False,
                "allow.auto.create.topics": True,
                "fetch.wait.max.ms": 10,
            }
        )
        try:
            self._consumer.assign([place for topic in listen for place in self._ends_of(topic)])
        except confluent_kafka.KafkaException as problem:
            self._consumer.close()
            raise DioramaError(
                f"{endpoint}: no Kafka broker answers there: {problem.args[0].str()}"
            ) from None

    def publish(self, topic: str, payload: bytes) -> None:
        """Queue a message; when the broker does not keep up, the message is lost."""
        with suppress(BufferError):
            self._producer.produce(topic, payload, key=KEY)
        self._producer.poll(0)

    def receive(self, timeout_s: float = 0.0) -> tuple[str, bytes] | None:
        """The next message, or None after that long."""
        message = self._consumer.poll(timeout_s)
        if message is None or message.error() is not None:
            return None
        return message.topic() or "", message.value() or b""

    def close(self) -> None:
        """Send what is queued, for a second at most, and end."""
        self._producer.flush(1.0)
        self._consumer.close()

    def _ends_of(self, topic: str) -> "list[confluent_kafka.TopicPartition]":
        """Where the partitions of a topic end now; asking for it makes a broker create it."""
        found = self._producer.list_topics(topic, timeout=PATIENCE_S).topics[topic].partitions
        ends = []
        for number in found:
            place = confluent_kafka.TopicPartition(topic, number)
            place.offset = self._consumer.get_watermark_offsets(place, timeout=PATIENCE_S)[1]
            ends.append(place)
        return ends
