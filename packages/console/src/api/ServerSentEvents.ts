/** `text/event-stream` as `fetch` gives it: the `id` and the `data` of each event. `EventSource` cannot tell why it was refused. */

export interface ServerSentEvent {
  readonly id: string | undefined
  readonly data: string
}

/** Events out of text that comes in pieces; what is not whole yet waits for the next piece. */
export class EventReader {
  private rest = ""

  push(piece: string): ReadonlyArray<ServerSentEvent> {
    const blocks = (this.rest + piece).replaceAll("\r\n", "\n").split("\n\n")
    this.rest = blocks.pop() ?? ""
    return blocks.flatMap((block) => {
      const fields = block.split("\n").map((line) => line.match(/^(\w+): ?(.*)$/))
      const values = (name: string) =>
        fields.flatMap((field) => (field?.[1] === name ? [field[2] ?? ""] : []))
      const data = values("data")
      return data.length === 0 ? [] : [{ id: values("id").at(-1), data: data.join("\n") }]
    })
  }
}

/** The events of a body until it ends. */
export async function* eventsOf(
  body: ReadableStream<Uint8Array<ArrayBuffer>>
): AsyncGenerator<ServerSentEvent> {
  const events = new EventReader()
  const reader = body.pipeThrough(new TextDecoderStream()).getReader()
  try {
    for (;;) {
      const { done, value } = await reader.read()
      if (done) return
      yield* events.push(value)
    }
  } finally {
    // Whoever stops reading ends the request.
    void reader.cancel().catch(() => undefined)
  }
}
