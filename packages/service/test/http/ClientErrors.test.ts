import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import * as fc from "fast-check"
import { receiveAll } from "./Idle.ts"
import { served } from "./Served.ts"

/** Answers each request after its body, and `/held` half of it at once and no more. */
const answering = served((request, response) => {
  if (request.url === "/held") return void response.write("half")
  request.on("end", () => response.end("whole")).resume()
})

const whole = (target: string) =>
  `GET ${target} HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Long: ${"x".repeat(200)}\r\n\r\n`
/** How many answers a text holds. */
const answersIn = (text: string): number => text.split(/HTTP\/1\.1 \d{3} /).length - 1

/** Together: nearly all of their time is the wait for the limit of a request's head. */
describe("answerClientErrors", { concurrent: true }, () => {
  it.live("closes a connection that sends nothing without a word, and answers half a request with 408", () =>
    Effect.gen(function* () {
      const port = yield* answering
      const request = whole("/")
      const cuts = [0, 1, request.length - 1, ...fc.sample(fc.nat({ max: request.length - 1 }), 40)]
      const received = yield* Effect.promise(() =>
        Promise.all(cuts.map((cut) => receiveAll(port, request.slice(0, cut), 30)))
      )
      for (const [i, { status, text }] of received.entries()) {
        if (cuts[i] === 0) assert.strictEqual(text, "")
        else assert.deepStrictEqual([cuts[i], status, answersIn(text)], [cuts[i], 408, 1])
        assert.notInclude(text, "schema_validation_failed")
      }
    })
  )

  it.live("never mixes a refusal with a response, for any bytes after a request", () =>
    Effect.gen(function* () {
      const port = yield* answering
      const noise = fc.sample(
        fc.oneof(
          // Line breaks alone begin no request, and after a whole one the connection is idle: it stays open.
          fc
            .uint8Array({ minLength: 1, maxLength: 100 })
            .filter((bytes) => bytes.some((byte) => byte !== 13 && byte !== 10)),
          fc.constant(Buffer.from(whole("/").replace("Host:", "Connection: close\r\nHost:"))),
          fc
            .integer({ min: 1, max: whole("/").length - 1 })
            .map((cut) => Buffer.from(whole("/").slice(0, cut)))
        ),
        40
      )
      for (const target of ["/", "/held"]) {
        const received = yield* Effect.promise(() =>
          Promise.all(
            noise.map((bytes) =>
              receiveAll(
                port,
                Buffer.concat([Buffer.from(whole(target)), bytes]),
                target === "/held" ? 1 : 30
              ).catch(() => undefined)
            )
          )
        )
        for (const each of received) {
          if (each === undefined) continue
          const { status, text } = each
          assert.strictEqual(status, 200, text)
          if (target === "/held") assert.notInclude(text.slice(10), "HTTP/1.1")
          else assert.isAtMost(answersIn(text), 2)
        }
      }
    })
  )
})
