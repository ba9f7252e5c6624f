/** A network that loses everything and ends no connection: a real server behind a load balancer, and the timers of the test. */
import { afterEach, assert, beforeEach, describe, it, onTestFinished, vi } from "@effect/vitest"
import { envelopeOf } from "@corral/domain/run/EventSequence"
import { LoadBalancer } from "@corral/testing/stack/LoadBalancer"
import { once } from "node:events"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { edgeClient } from "../../src/Edge.ts"
import { CorralError } from "../../src/http/CorralError.ts"
import type { ReconnectionOptions } from "../../src/stream/Reconnection.ts"
import { completed, delta, runId } from "../Services.ts"

/** A server of one run, which sends one event on the first stream and two on the next, and leaves them open. */
const serveRun = async () => {
  const positions: Array<number> = []
  const server = createServer((request, response) => {
    const after = Number(new URL(request.url ?? "", "http://localhost").searchParams.get("after"))
    positions.push(after)
    response.writeHead(200, { "content-type": "text/event-stream" })
    response.write(after === 0 ? delta(1) : delta(2) + completed(3))
  })
  await once(server.listen(0, "127.0.0.1"), "listening")
  const front = await LoadBalancer.open()
  front.ports = [(server.address() as AddressInfo).port]
  onTestFinished(async () => {
    await front.close()
    server.closeAllConnections()
    server.close()
  })
  return { front, positions }
}

/** Resolves each time that it is called, for the one who waits. */
const signal = () => {
  let next = Promise.withResolvers<void>()
  return {
    call: () => {
      next.resolve()
      next = Promise.withResolvers()
    },
    next: () => next.promise
  }
}

/** `fetch` that reports each request. */
const sendingOf =
  (sending: ReturnType<typeof signal>): typeof fetch =>
  (...request) => {
    sending.call()
    return fetch(...request)
  }

describe("a network that loses everything silently", () => {
  beforeEach(() => void vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "Date"] }))
  afterEach(() => {
    vi.useRealTimers()
    vi.unstubAllGlobals()
  })

  /** Reads the run. `sending` is called when a request leaves, `waiting` before the pause after a failed connection. */
  const follow = async () => {
    const { front, positions } = await serveRun()
    const [sending, waiting] = [signal(), signal()]
    const states: Array<readonly [state: string, heardAt: number | undefined]> = []
    const options: ReconnectionOptions = {
      onConnection: (state, heardAt) => void states.push([state, heardAt?.getTime()]),
      wait: async () => waiting.call()
    }
    const edge = edgeClient({ url: front.url, token: "secret", fetch: sendingOf(sending) })
    const events = edge.runEvents(runId, options)
    const nextSeq = async () => {
      const { value } = await events.next()
      return value === undefined ? undefined : envelopeOf(value.decoded).seq
    }
    /** A read over a frozen network, which has begun. */
    const readFrozen = async () => {
      front.freeze()
      const seq = nextSeq()
      await new Promise((resolve) => setImmediate(resolve))
      return { seq }
    }
    assert.strictEqual(await nextSeq(), 1)
    return { front, nextSeq, positions, readFrozen, sending, states, waiting }
  }

  it("is noticed after 30 s, and a connection without a response after 15 s; reading continues after the last event", async () => {
    const { front, nextSeq, positions, readFrozen, sending, states, waiting } = await follow()
    const heardAt = new Date().getTime()
    const second = await readFrozen()
    vi.advanceTimersByTime(29_999)
    assert.deepStrictEqual(states, [["live", heardAt]])
    const [failed, sent] = [waiting.next(), sending.next()]
    vi.advanceTimersByTime(1)
    await Promise.all([failed, sent])
    assert.deepStrictEqual(states.at(-1), ["lost", heardAt])

    // The next connection is accepted, and nothing comes.
    const refused = waiting.next()
    vi.advanceTimersByTime(15_000)
    front.thaw()
    await refused
    assert.strictEqual(await second.seq, 2)
    assert.strictEqual(states.at(-1)?.[0], "live")
    assert.strictEqual(await nextSeq(), 3)
    assert.deepStrictEqual([...new Set(positions)], [0, 1])
  })

  it("is noticed by a page that wakes up after 25 s, and not by one that heard the service since", async () => {
    const page = new EventTarget()
    vi.stubGlobal("addEventListener", page.addEventListener.bind(page))
    vi.stubGlobal("removeEventListener", page.removeEventListener.bind(page))
    const { front, nextSeq, readFrozen, states, waiting } = await follow()
    const second = await readFrozen()
    for (const type of ["focus", "pageshow", "online", "visibilitychange"]) {
      vi.setSystemTime(new Date().getTime() + 6_000)
      page.dispatchEvent(new Event(type))
      assert.strictEqual(states.length, 1, type)
    }
    const failed = waiting.next()
    vi.setSystemTime(new Date().getTime() + 2_000)
    page.dispatchEvent(new Event("visibilitychange"))
    await failed
    assert.strictEqual(states.at(-1)?.[0], "lost")
    front.thaw()
    assert.strictEqual(await second.seq, 2)
    assert.strictEqual(await nextSeq(), 3)
  })

  it("fails a call after its own limit", async () => {
    const { front } = await serveRun()
    front.freeze()
    const sending = signal()
    const sent = sending.next()
    const edge = edgeClient({ url: front.url, fetch: sendingOf(sending) })
    const call = edge.runs.get({ params: { id: runId }, timeoutMs: 10_000 }).catch((error: unknown) => error)
    await sent
    vi.advanceTimersByTime(10_000)
    const error = await call
    assert.instanceOf(error, CorralError)
    assert.strictEqual(error.code, "unreachable")
  })
})
