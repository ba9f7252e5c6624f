/** The files of the recordings. */
import { recordingDefaults } from "@corral/conformance/Recordings"
import { assert, describe, it } from "@effect/vitest"
import { globSync, readFileSync } from "node:fs"
import { basename } from "node:path"
import { isDeepStrictEqual } from "node:util"

const folder = new URL("fixtures/", import.meta.url)
const facts = globSync("*/*/recording.json", { cwd: folder }).map((path) => {
  const fields: Readonly<Record<string, unknown>> = JSON.parse(readFileSync(new URL(path, folder), "utf8"))
  return { path, fields }
})

describe("A recording", () => {
  it("says only what is not usual, in fields that the loader reads", () => {
    assert.isNotEmpty(facts)
    const usual: Readonly<Record<string, unknown>> = { ...recordingDefaults }
    const idle = facts.flatMap(({ fields, path }) =>
      Object.entries(fields)
        .filter(([name, value]) => !Object.hasOwn(usual, name) || isDeepStrictEqual(value, usual[name]))
        .map(([name]) => `${path}: ${name}`)
    )
    assert.deepStrictEqual(idle, [])
  })

  it("has files of known names", () => {
    const names = ["recording.json", "stdout.jsonl", "stdout.txt", "events.json"]
    const others = globSync("*/*/*", { cwd: folder }).filter((path) => !names.includes(basename(path)))
    assert.deepStrictEqual(others, [])
  })
})
