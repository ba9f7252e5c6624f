/** The files of the recordings. */
import { recordingDefaults } from "@corral/conformance/Recordings"
import { assert, describe, it } from "@effect/vitest"
import { globSync, readFileSync, statSync } from "node:fs"
import { basename } from "node:path"
import { isDeepStrictEqual } from "node:util"

const folder = new URL("fixtures/", import.meta.url)
const files = (name: string): ReadonlyArray<URL> =>
  globSync(`**/${name}`, { cwd: folder }).map((path) => new URL(path, folder))

describe("A file of a recording", () => {
  it.each(Object.entries(recordingDefaults))("%s says what is not usual", (name, usual) => {
    const found = files(name)
    assert.isNotEmpty(found)
    const idle = found.filter((file) => isDeepStrictEqual(JSON.parse(readFileSync(file, "utf8")), usual))
    assert.deepStrictEqual(idle, [])
  })

  it("stderr.txt is not empty", () => {
    assert.deepStrictEqual(
      files("stderr.txt").filter((file) => statSync(file).size === 0),
      []
    )
  })

  it("has a known name", () => {
    const names = [
      ...Object.keys(recordingDefaults),
      "start.json",
      "stdout.jsonl",
      "stdout.txt",
      "stdin.jsonl"
    ]
    const others = globSync("*/*/*", { cwd: folder }).filter(
      (path) => ![...names, "stderr.txt", "events.json"].includes(basename(path))
    )
    assert.deepStrictEqual(others, [])
  })
})
