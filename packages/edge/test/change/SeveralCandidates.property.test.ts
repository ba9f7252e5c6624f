/**
 * Hunks of several candidates, accepted one after the other in any order: each that no other one has changed arrives, the same change arrives once,
 * and of different ones at one place the first wins and the others are refused without an effect.
 */
import type { ChangedFile, ChangeHunk } from "@corral/domain/edge-api/ChangeSet"
import type { ChangeHunkId } from "@corral/domain/identity/Ids"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { mkdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { Changes } from "../../src/change/Changes.ts"
import { newRunId } from "../Samples.ts"
import { Seeded } from "../harness/Seeded.ts"
import {
  changePlace,
  type ChangePlace,
  changeServices,
  decider,
  placeAt,
  workInLayer
} from "./ChangePlace.ts"

const FILE = "code.txt"
/** Lines that a candidate may change, far enough from each other to be hunks of their own. */
const PLACES = [3, 15, 27, 39, 51]
const LINES = Array.from({ length: 60 }, (_, at) => `line ${at + 1}`)
const CANDIDATES = 3
const ROUNDS = 1

/** Other lines instead of one, by the number of that line. */
type Edits = ReadonlyMap<number, ReadonlyArray<string>>

const withEdits = (edits: Edits): string =>
  LINES.flatMap((line, at) => edits.get(at + 1) ?? [line])
    .map((line) => `${line}\n`)
    .join("")

const treeOf = (text: string) => new Map([[FILE, { mode: "100644", content: Buffer.from(text) } as const]])

const editOf = (seeded: Seeded, candidate: number, place: number): ReadonlyArray<string> | undefined => {
  switch (seeded.whole(0, 4)) {
    case 0:
      return undefined
    case 1:
      return []
    case 2:
      return [`the same at ${place}`]
    default:
      return [`candidate ${candidate} at ${place}`, ...(seeded.whole(0, 1) === 0 ? [] : ["and more"])]
  }
}

const editsOf = (seeded: Seeded, candidate: number): Edits =>
  new Map(
    PLACES.flatMap((place) => {
      const edit = editOf(seeded, candidate, place)
      return edit === undefined ? [] : [[place, edit] as const]
    })
  )

const shuffled = <A>(seeded: Seeded, items: ReadonlyArray<A>): ReadonlyArray<A> => {
  const left = [...items]
  return items.flatMap(() => left.splice(seeded.whole(0, left.length - 1), 1))
}

const openHunks = Effect.fnUntraced(function* ({ run }: ChangePlace) {
  const changes = yield* Changes
  const { items } = yield* changes.read(run.id, undefined, 10)
  const [file]: ReadonlyArray<ChangedFile | undefined> = items
  if (file === undefined) return []
  return (yield* changes.readFile(run.id, file.id, { position: undefined, limit: 100 })).items
})

const isAt =
  (place: number) =>
  ({ lines }: ChangeHunk): boolean =>
    lines.includes(`-line ${place}`)

/** Accepts all hunks in this order, and compares with what should happen. */
const acceptAll = Effect.fnUntraced(function* (
  seeded: Seeded,
  places: ReadonlyArray<ChangePlace>,
  edits: ReadonlyArray<Edits>
) {
  const changes = yield* Changes
  const expected = new Map<number, ReadonlyArray<string>>()
  const all = edits.flatMap((each, candidate) => [...each.keys()].map((line) => ({ candidate, line })))
  for (const { candidate, line } of shuffled(seeded, all)) {
    const place = places[candidate] ?? assert.fail("there is no such candidate")
    const wanted = edits[candidate]?.get(line) ?? []
    const before = yield* openHunks(place)
    const hunk = before.find(isAt(line))
    assert.isDefined(hunk, `line ${line} of candidate ${candidate} is open`)
    const hunks: ReadonlyArray<ChangeHunkId> = hunk === undefined ? [] : [hunk.id]
    const answer = yield* Effect.result(changes.accept(place.run.id, { parts: { hunks } }, decider))
    const there = expected.get(line)
    const isRefused = there !== undefined && there.join("\n") !== wanted.join("\n")
    assert.strictEqual(
      answer._tag === "Success" ? "accepted" : answer.failure.code,
      isRefused ? "merge_conflict" : "accepted",
      `line ${line} of candidate ${candidate}`
    )
    if (!isRefused) expected.set(line, wanted)
    assert.strictEqual(readFileSync(join(place.root, FILE), "utf8"), withEdits(expected))
    assert.lengthOf(yield* openHunks(place), before.length - (isRefused ? 0 : 1))
  }
})

describe("Hunks of several candidates", () => {
  it.live(
    "are accepted in any order",
    () =>
      Effect.gen(function* () {
        const seeded = new Seeded("hunks of several candidates")
        for (let round = 0; round < ROUNDS; round++)
          yield* Effect.scoped(
            Effect.gen(function* () {
              const first = yield* changePlace(treeOf(withEdits(new Map())))
              const others = Array.from({ length: CANDIDATES - 1 }, (_, at): ChangePlace => {
                const view = join(first.folder, `view-${at + 1}`)
                mkdirSync(view)
                return { ...placeAt(first.folder, newRunId()), view }
              })
              const places = [first, ...others]
              const edits = places.map((_, candidate) => editsOf(seeded, candidate))
              yield* Effect.gen(function* () {
                for (const [at, place] of places.entries())
                  yield* workInLayer(place, treeOf(withEdits(edits[at] ?? new Map())))
                yield* acceptAll(seeded, places, edits)
              }).pipe(Effect.provide(changeServices(first, undefined, others)))
            })
          )
      }),
    180_000
  )
})
