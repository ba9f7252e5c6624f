/** A reader of `/client/news` over real HTTP: keeps every hint, each of them as the contract says, and lets a test wait for one. */
import { assert } from "@effect/vitest"
import { ChangeHint } from "@corral/domain/hub-api/ChangeHint"
import { Schema } from "effect"
import { within } from "@corral/testing/time/Until"
import type { HubClient } from "@corral/testing/hub/HubClient"

const decode = Schema.decodeUnknownSync(Schema.fromJsonString(ChangeHint), { onExcessProperty: "error" })

export class ChangeFollower {
  readonly hints: Array<ChangeHint> = []
  private readonly reader: ReadableStreamDefaultReader<Uint8Array>
  private readonly reading: Promise<void>
  private waiting: ReadonlyArray<() => void> = []

  static async open(client: HubClient): Promise<ChangeFollower> {
    const response = await fetch(`${client.url}/client/news`, {
      headers: { authorization: `Bearer ${client.token}` }
    })
    assert.deepStrictEqual(
      [response.status, response.headers.get("content-type")],
      [200, "text/event-stream"]
    )
    assert.isNotNull(response.body)
    return new ChangeFollower(response.body.getReader())
  }

  constructor(reader: ReadableStreamDefaultReader<Uint8Array>) {
    this.reader = reader
    this.reading = this.read()
  }

  /** Waits for a hint with these fields, also one that has come already; gives where it stands. */
  async hint(wanted: Partial<ChangeHint>, from = 0): Promise<number> {
    const find = () =>
      this.hints.findIndex(
        (hint, i) =>
          i >= from &&
          Object.entries(wanted).every(([k, v]) =>
            Object.entries(hint).some(([name, value]) => name === k && value === v)
          )
      )
    const next = async (): Promise<number> => {
      const at = find()
      if (at >= 0) return at
      await new Promise<void>((resolve) => (this.waiting = [...this.waiting, resolve]))
      return next()
    }
    return within(next(), 20_000, `${JSON.stringify(wanted)} in ${JSON.stringify(this.hints)}`)
  }

  /** Waits until the Hub ends it. */
  ended(millis: number): Promise<void> {
    return within(this.reading, millis, "the end of the news")
  }

  close(): Promise<void> {
    return this.reader.cancel()
  }

  private async read(): Promise<void> {
    const text = new TextDecoder()
    let rest = ""
    for (;;) {
      const part = await this.reader.read().catch(() => ({ done: true, value: undefined }))
      if (part.done) return
      const events = (rest + text.decode(part.value, { stream: true })).split("\n\n")
      rest = events.pop() ?? ""
      for (const event of events)
        if (event.startsWith("data: ")) this.hints.push(decode(event.slice(6)))
        else assert.strictEqual(event, ": ")
      const waiting = this.waiting
      this.waiting = []
      for (const resolve of waiting) resolve()
    }
  }
}
