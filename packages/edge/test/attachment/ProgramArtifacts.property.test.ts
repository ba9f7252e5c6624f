/** Files of a program in any order of changes, looks and restarts of the Edge: each name with a content is published once, and nothing else is. */
import { effort } from "@corral/testing/time/Effort"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import * as fc from "fast-check"
import { execFileSync } from "node:child_process"
import { linkSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { Artifacts } from "../../src/artifact/Artifacts.ts"
import { type FoundArtifacts, ProgramArtifacts } from "../../src/attachment/ProgramArtifacts.ts"
import { artifactsFolderIn } from "../../src/process/ProgramFiles.ts"
import { Store } from "../../src/store/Store.ts"
import { temporaryFolder } from "../Folder.ts"
import { runIdOf } from "../Samples.ts"

const names = fc.constantFrom("a.txt", "b.html", "c d.bin", "-x", "é", "{}")
const steps = fc.array(
  fc.oneof(
    {
      weight: 4,
      arbitrary: fc.record({
        do: fc.constant("write" as const),
        name: names,
        text: fc.constantFrom("", "1", "22")
      })
    },
    fc.record({ do: fc.constantFrom("remove", "link", "hard link", "folder", "pipe"), name: names }),
    { weight: 4, arbitrary: fc.record({ do: fc.constantFrom("look", "restart", "full") }) }
  ),
  { maxLength: 25 }
)
type Step = typeof steps extends fc.Arbitrary<Array<infer S>> ? S : never

const play = Effect.fnUntraced(function* (
  artifacts: Artifacts["Service"],
  store: Store["Service"],
  temporary: string,
  number: number,
  sample: ReadonlyArray<Step>
) {
  const folder = artifactsFolderIn(temporary)
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(temporary, "outside"), "outside")
  const runId = runIdOf(number)
  const open = () => new ProgramArtifacts(artifacts, runId, temporary, (name) => name)
  let watch = open()
  /** Content of each regular file, and what is another kind of entry. */
  const files = new Map<string, string>()
  const others = new Set<string>()
  const expected = new Set<string>()
  const notices: Array<string> = []
  let isFull = false
  const rows: Array<FoundArtifacts["stored"][number]["row"]> = []
  const report = ({ notices: found, stored }: FoundArtifacts): boolean => {
    if (isFull) return false
    rows.push(...stored.map(({ row }) => row))
    notices.push(...found)
    return true
  }
  for (const step of [...sample, { do: "look" } as const]) {
    isFull = step.do === "full"
    if (!("name" in step)) {
      if (step.do === "restart") watch = open()
      yield* watch.look(report, true)
      if (rows.length > 0) yield* store.commit(rows.splice(0))
      if (isFull) continue
      for (const [name, text] of files) expected.add(`${name}=${text.length}`)
      for (const name of others) assert.include(notices.join("\n"), JSON.stringify(name))
      continue
    }
    const path = join(folder, step.name)
    rmSync(path, { recursive: true, force: true })
    files.delete(step.name)
    others.delete(step.name)
    if ("text" in step) {
      writeFileSync(path, step.text)
      files.set(step.name, step.text)
    } else if (step.do !== "remove") {
      if (step.do === "link") symlinkSync("../outside", path)
      else if (step.do === "hard link") linkSync(join(temporary, "outside"), path)
      else if (step.do === "folder") mkdirSync(path)
      else execFileSync("mkfifo", ["--", path])
      others.add(step.name)
    }
  }
  const published = artifacts.page(runId, undefined, 1_000).map(({ name, size }) => `${name}=${size}`)
  assert.sameMembers(published, [...expected])
})

describe("ProgramArtifacts", () => {
  it.effect("publishes each name with a content once, and names what it does not publish", () =>
    Effect.scoped(
      Effect.gen(function* () {
        const home = yield* temporaryFolder
        yield* Effect.gen(function* () {
          const artifacts = yield* Artifacts
          const store = yield* Store
          let runs = 0
          for (const sample of fc.sample(steps, { numRuns: 40 * effort, seed: 1 }))
            yield* play(artifacts, store, join(home, `run-${runs}`), runs++, sample)
        }).pipe(
          Effect.provide(
            Artifacts.layer({ home, minFreeBytes: 0 }).pipe(Layer.provideMerge(Store.layerMemory))
          )
        )
      })
    )
  )
})
