/** Edges that are killed while they write an acceptance: after the next start, it is complete or absent, and can be made. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { spawn } from "node:child_process"
import { readdirSync } from "node:fs"
import { join } from "node:path"
import { Changes } from "../../src/change/Changes.ts"
import { Store } from "../../src/store/Store.ts"
import { Seeded } from "../harness/Seeded.ts"
import {
  changePlace,
  type ChangePlace,
  changeServices,
  decider,
  everything,
  readTree,
  shownTree,
  workInLayer
} from "./ChangePlace.ts"
import type { Tree, TreeFile } from "./RandomTrees.ts"

const KILLS = 30
const FILES = 60

const file = (content: string): TreeFile => ({ mode: "100644", content: Buffer.from(content) })

/** Changed, removed and new files, and a folder that becomes a file. */
const trees = (): { readonly base: Tree; readonly result: Tree } => {
  const base = new Map<string, TreeFile>([["folder/in", file("in\n")]])
  const result = new Map<string, TreeFile>([["folder", file("a file\n")]])
  for (let at = 0; at < FILES; at++) {
    base.set(`src/${at % 7}/${at}`, file(`${at}\n`))
    if (at % 3 !== 0) result.set(`src/${at % 7}/${at}`, file(`${at} changed\n`))
    if (at % 5 === 0) result.set(`new/${at % 4}/${at}\n`, file(`${at} new\n`))
  }
  return { base, result }
}

const PROGRAM = join(import.meta.dirname, "AcceptAll.ts")

/** Runs the acceptance in a process. With `lines`, kills it after that number of them. Returns how many it printed, and how it ended. */
const acceptUntil = ({ folder, run }: ChangePlace, lines = Number.POSITIVE_INFINITY) =>
  Effect.callback<{ readonly printed: number; readonly end: number | string | null }>((resume) => {
    const child = spawn(process.execPath, [PROGRAM, folder, run.id], { stdio: ["ignore", "pipe", "inherit"] })
    let printed = 0
    child.stdout.setEncoding("utf8").on("data", (text: string) => {
      printed += text.split("\n").length - 1
      if (printed >= lines) child.kill("SIGKILL")
    })
    child.once("close", (code, signal) => resume(Effect.succeed({ printed, end: signal ?? code })))
  })

const isBeside = (name: string): boolean => name.includes(".corral-")

describe("Edges that are killed while they accept", () => {
  it.live(
    "have accepted everything or nothing",
    () =>
      Effect.gen(function* () {
        const seeded = new Seeded("Edges that are killed while they accept")
        const { base, result } = trees()
        const [before, after] = [shownTree(base), shownTree(result)]
        const prepare = Effect.gen(function* () {
          const place = yield* changePlace(base)
          yield* workInLayer(place, result).pipe(Effect.provide(changeServices(place)))
          return place
        })
        const whole = yield* acceptUntil(yield* prepare)
        assert.strictEqual(whole.end, 0)
        const ends = new Set<string>()
        for (let kill = 0; kill < KILLS; kill++) {
          const place = yield* prepare
          const { end } = yield* acceptUntil(place, seeded.whole(1, whole.printed))
          const journal = yield* Effect.gen(function* () {
            const changes = yield* Changes
            const found = shownTree(readTree(place.root))
            const set = yield* changes.summary(place.run.id)
            const isDone = set.state === "decided"
            ends.add(`${end} ${isDone ? "complete" : "absent"}`)
            assert.deepStrictEqual(found, isDone ? after : before)
            if (!isDone) yield* changes.accept(place.run.id, { parts: everything(set) }, decider)
            return (yield* Store).all("SELECT id FROM change_journal")
          }).pipe(Effect.provide(changeServices(place)))
          assert.deepStrictEqual(journal, [])
          assert.deepStrictEqual(shownTree(readTree(place.root)), after)
          assert.deepStrictEqual(
            readdirSync(place.root, { encoding: "utf8", recursive: true }).filter(isBeside),
            []
          )
        }
        console.log([...ends].join(", "))
        assert.isTrue(ends.has("SIGKILL absent"))
      }).pipe(Effect.scoped),
    600_000
  )
})
