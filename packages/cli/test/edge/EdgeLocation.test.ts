import { assert, describe, it } from "@effect/vitest"
import { ConfigProvider, Deferred, Effect, Fiber, Option, Redacted } from "effect"
import { TestClock } from "effect/testing"
import { FetchHttpClient } from "effect/http"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { createServer, type IncomingHttpHeaders } from "node:http"
import type { AddressInfo } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { locateEdge } from "../../src/edge/EdgeLocation.ts"
import { Host } from "../../src/terminal/Host.ts"
import { testHost } from "../terminal/TestHost.ts"

const home = Effect.acquireRelease(
  Effect.sync(() => mkdtempSync(join(tmpdir(), "corral-home-"))),
  (folder) => Effect.sync(() => rmSync(folder, { recursive: true, force: true }))
)

/** Server that reports this instance id. Returns its URL and the headers that it received. */
const listener = (instanceId: string) =>
  Effect.acquireRelease(
    Effect.callback<{ url: string; seen: Array<IncomingHttpHeaders>; close: () => void }>((resume) => {
      const seen: Array<IncomingHttpHeaders> = []
      const server = createServer((request, response) => {
        seen.push(request.headers)
        response
          .setHeader("content-type", "application/json")
          .end(JSON.stringify({ status: "ok", instanceId }))
      })
      server.listen(0, "127.0.0.1", () => {
        const { port } = server.address() as AddressInfo
        const close = () => {
          server.close()
          server.closeAllConnections()
        }
        resume(Effect.succeed({ url: `http://127.0.0.1:${port}`, seen, close }))
      })
    }),
    ({ close }) => Effect.sync(close)
  )

const describeEdge = (folder: string, url: string, instanceId: string) =>
  Effect.sync(() => {
    const tokenFile = join(folder, "edge.token")
    writeFileSync(tokenFile, "the-token\n")
    writeFileSync(
      join(folder, "edge.json"),
      JSON.stringify({ url, pid: 1, instanceId, version: "0.1.0", tokenFile })
    )
  })

const located = (folder: string, url: Option.Option<string> = Option.none()) =>
  locateEdge({ url, tokenFile: Option.none() }).pipe(
    Effect.provide(FetchHttpClient.layer),
    Effect.provideService(Host, testHost({ invocation: "npx corral" })),
    Effect.provideService(
      ConfigProvider.ConfigProvider,
      ConfigProvider.fromEnv({ env: { CORRAL_HOME: folder } })
    )
  )

describe("EdgeLocation", () => {
  it.live("locates the Edge described in edge.json", () =>
    Effect.gen(function* () {
      const folder = yield* home
      const { url } = yield* listener("i-1")
      yield* describeEdge(folder, url, "i-1")
      const found = yield* located(folder)
      assert.strictEqual(found.url, url)
      assert.strictEqual(Redacted.value(found.token), "the-token")
    })
  )

  it.live("sends no token to another program on the Edge's port", () =>
    Effect.gen(function* () {
      const folder = yield* home
      const { url, seen } = yield* listener("a-squatter")
      yield* describeEdge(folder, url, "i-1")
      const failure = yield* Effect.flip(located(folder))
      assert.include(failure.message, "The token was not sent")
      assert.deepStrictEqual(
        seen.map((headers) => headers.authorization),
        [undefined]
      )
    })
  )

  it.effect("does not say of an Edge that answers late that none is running", () =>
    Effect.gen(function* () {
      const folder = yield* home
      const isAsked = yield* Deferred.make<void>()
      const url = yield* Effect.acquireRelease(
        Effect.callback<{ url: string; close: () => void }>((resume) => {
          const server = createServer(() => Deferred.doneUnsafe(isAsked, Effect.void))
          server.listen(0, "127.0.0.1", () => {
            const { port } = server.address() as AddressInfo
            resume(
              Effect.succeed({ url: `http://127.0.0.1:${port}`, close: () => server.closeAllConnections() })
            )
          })
        }),
        ({ close }) => Effect.sync(close)
      ).pipe(Effect.map(({ url }) => url))
      yield* describeEdge(folder, url, "i-1")
      const failing = yield* Effect.forkChild(Effect.flip(located(folder)))
      yield* Deferred.await(isAsked)
      yield* TestClock.adjust("15 seconds")
      const { message } = yield* Fiber.join(failing)
      assert.strictEqual(message, `The Edge at ${url} does not answer. If the machine is busy, try again.`)
    })
  )

  it.live("says how to start an Edge when none is running, with or without an old edge.json", () =>
    Effect.gen(function* () {
      const folder = yield* home
      const sentence = "No Edge is running on this machine. Start one with `npx corral up`."
      assert.strictEqual((yield* Effect.flip(located(folder))).message, sentence)
      const { url, close } = yield* listener("i-1")
      yield* describeEdge(folder, url, "i-1")
      close()
      assert.strictEqual((yield* Effect.flip(located(folder))).message, sentence)
    })
  )

  it.live("rejects URLs of other machines", () =>
    Effect.gen(function* () {
      const folder = yield* home
      for (const url of [
        "http://example.com",
        "https://127.0.0.1:1",
        "127.0.0.1:80",
        "http://127.0.0.1.example.com"
      ]) {
        const failure = yield* Effect.flip(located(folder, Option.some(url)))
        assert.include(failure.message, "on this machine")
      }
    })
  )
})
