import { afterEach, assert, describe, it } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { type ChildProcess, spawn } from "node:child_process"
import { once } from "node:events"
import type { MarkedProcesses, Survivors } from "../../src/process/MarkSearch.ts"
import { SharedSearch, startSearchThread } from "../../src/process/SharedSearch.ts"

const markOf = (name: string) => `CORRAL_RUN_ID=shared-${process.pid}-${name}`

let started: Array<ChildProcess> = []
afterEach(() => {
  for (const child of started) child.kill("SIGKILL")
  started = []
})

const marked = async (mark: string): Promise<number> => {
  const [name = "", value = ""] = mark.split("=")
  const child = spawn("/bin/sh", ["-c", "echo ready; read line"], { env: { [name]: value } })
  started.push(child)
  await once(child.stdout, "data")
  assert(child.pid !== undefined)
  return child.pid
}

/** A thread that answers when it is released, and the searches that it received. */
const slowThread = () => {
  const searches: Array<ReadonlyArray<MarkedProcesses>> = []
  const releases: Array<() => void> = []
  const search = (targets: ReadonlyArray<MarkedProcesses>): Promise<ReadonlyArray<Survivors>> => {
    searches.push(targets)
    return new Promise((resolve) =>
      releases.push(() => resolve(targets.map(() => ({ pids: [], certain: true }))))
    )
  }
  return { searches, releases, thread: { search, close: () => undefined } }
}

const sharedSearch = (make = startSearchThread) =>
  Effect.acquireRelease(
    Effect.sync(() => new SharedSearch(undefined, make)),
    (search) => Effect.sync(() => search.close())
  )

describe("SharedSearch", () => {
  it.live("finds the processes of each target in another thread", () =>
    Effect.gen(function* () {
      const { find } = yield* sharedSearch()
      const [one, other] = yield* Effect.promise(() =>
        Promise.all([marked(markOf("a")), marked(markOf("b"))])
      )
      const targets = ["a", "b", "c"].map((name) => ({ mark: markOf(name) }))
      const found = yield* Effect.all(targets.map(find), { concurrency: "unbounded" })
      assert.deepStrictEqual(
        found.map(({ pids }) => pids),
        [[one], [other], []]
      )
    })
  )

  it.live("makes one search for the requests that come during another, after it", () =>
    Effect.gen(function* () {
      const { releases, searches, thread } = slowThread()
      const { find } = yield* sharedSearch(() => thread)
      const first = yield* Effect.forkChild(find({ mark: "a=0" }), { startImmediately: true })
      const others = yield* Effect.forEach([1, 2, 3, 4, 5], (n) =>
        Effect.forkChild(find({ mark: `a=${n}` }), { startImmediately: true })
      )
      assert.strictEqual(searches.length, 1)
      releases[0]?.()
      yield* Fiber.join(first)
      while (searches.length < 2) yield* Effect.sleep(1)
      releases[1]?.()
      yield* Effect.forEach(others, Fiber.join)
      assert.deepStrictEqual(
        searches.map((targets) => targets.map(({ mark }) => mark)),
        [["a=0"], ["a=1", "a=2", "a=3", "a=4", "a=5"]]
      )
    })
  )

  it.live("does not search for an interrupted request", () =>
    Effect.gen(function* () {
      const { releases, searches, thread } = slowThread()
      const { find } = yield* sharedSearch(() => thread)
      const first = yield* Effect.forkChild(find({ mark: "a=0" }), { startImmediately: true })
      const second = yield* Effect.forkChild(find({ mark: "a=1" }), { startImmediately: true })
      yield* Fiber.interrupt(second)
      releases[0]?.()
      yield* Fiber.join(first)
      const third = yield* Effect.forkChild(find({ mark: "a=2" }), { startImmediately: true })
      while (searches.length < 2) yield* Effect.sleep(1)
      releases[1]?.()
      yield* Fiber.join(third)
      assert.deepStrictEqual(searches[1], [{ mark: "a=2" }])
    })
  )

  it.live("searches here when the thread fails, and starts another one later", () =>
    Effect.gen(function* () {
      let threads = 0
      const failing = {
        search: () => Promise.reject(new Error("the search thread has ended")),
        close: () => undefined
      }
      const { find } = yield* sharedSearch(() => (threads++ === 0 ? failing : startSearchThread()))
      const pid = yield* Effect.promise(() => marked(markOf("d")))
      assert.deepStrictEqual((yield* find({ mark: markOf("d") })).pids, [pid])
      assert.deepStrictEqual((yield* find({ mark: markOf("d") })).pids, [pid])
      assert.strictEqual(threads, 2)
    })
  )

  it.live("fails the search of a thread that has ended", () =>
    Effect.gen(function* () {
      const thread = startSearchThread()
      const search = thread.search([{ mark: markOf("e") }])
      thread.close()
      const ended = yield* Effect.promise(() =>
        search.then(
          () => "found",
          () => "failed"
        )
      )
      // The answer may have come before the end.
      assert.include(["found", "failed"], ended)
      assert.strictEqual(
        yield* Effect.promise(() =>
          thread.search([]).then(
            () => "found",
            () => "failed"
          )
        ),
        "failed"
      )
    })
  )
})
