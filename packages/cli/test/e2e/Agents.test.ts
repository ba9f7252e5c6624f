/** `corral agents`: profiles and runners of a running Edge. */
import { Preset } from "@corral/domain/run/Preset"
import { fileSentence, fileWith, wrongPresets, type WrongPreset } from "@corral/testing/edge/WrongPresets"
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { openConfigFile } from "@corral/edge/runtime/ConfigFile"
import { RuntimeRegistry } from "@corral/edge/runtime/RuntimeRegistry"
import { Effect, Schema } from "effect"
import * as fc from "fast-check"
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { Corral } from "./Corral.ts"

const presetOf = Schema.decodeUnknownSync(Preset)

/** What the configuration file says about the entry when an Edge starts with it. */
const fileRefusal = (file: string, preset: WrongPreset): Promise<string> => {
  writeFileSync(file, JSON.stringify(fileWith(preset)), { mode: 0o600 })
  return Effect.runPromise(
    Effect.gen(function* () {
      const { message } = yield* Effect.flip(openConfigFile(file, yield* RuntimeRegistry))
      return message.slice(`${file} is not usable: `.length)
    }).pipe(Effect.scoped)
  )
}

describe("corral agents", () => {
  const corral = new Corral()
  const entry = join(corral.home, "entry.json")
  beforeAll(() => corral.up())
  afterAll(() => corral.close())

  it("adds, lists, edits and removes a profile, which the next run can use", async () => {
    const none = await corral.run("agents", "list")
    assert.include(none.out.join(), "No profiles or runners yet.")
    const added = await corral.run("agents", "add", "careful", "--adapter", "scripted", "--mode", "ask")
    assert.strictEqual(added.exit, 0, added.stderr)
    assert.include(added.out.join(), "corral run --agent careful")
    const run = await corral.run("run", "--agent", "careful", "/say Hello")
    assert.strictEqual(run.exit, 0, run.stderr)
    const edited = await corral.run(
      "agents",
      "edit",
      "careful",
      "--model",
      "small",
      "--json",
      "--unset",
      "mode"
    )
    assert.deepStrictEqual(presetOf(JSON.parse(edited.out.join(""))).settings, {
      label: "careful",
      adapter: "scripted",
      model: "small"
    })
    const listed = await corral.run("agents", "list")
    assert.deepStrictEqual(listed.out, ["careful  profile  scripted  small"])
    assert.strictEqual((await corral.run("agents", "remove", "careful")).exit, 0)
    const again = await corral.run("agents", "remove", "careful")
    assert.strictEqual(again.exit, 2)
    assert.include((await corral.run("run", "--agent", "careful", "/say Hello")).stderr, "agent")
  })

  it("adds a runner from a file", async () => {
    writeFileSync(
      entry,
      JSON.stringify({ label: "Parrot", runtime: "text", command: ["cat"], stdin: "prompt" })
    )
    const added = await corral.run(
      "agents",
      "add",
      "parrot",
      "--kind",
      "runner",
      "--settings",
      entry,
      "--json"
    )
    assert.strictEqual(added.exit, 0, added.stderr)
    assert.strictEqual(presetOf(JSON.parse(added.out.join(""))).kind, "runner")
    const refusal = await corral.run("agents", "edit", "parrot", "--settings", "/nowhere")
    assert.deepStrictEqual([refusal.exit, refusal.stderr.includes("Can't read settings")], [2, true])
    assert.include((await corral.run("agents", "edit", "parrot")).stderr, "Nothing to change.")
  })

  it("refuses what the configuration file refuses, with its words", async () => {
    const ids = /^[a-z]{3,12}$/
    const wrong = fc.sample(
      wrongPresets.filter(({ id, settings }) => ids.test(id) && "label" in settings),
      { numRuns: 8, seed: 3 }
    )
    for (const preset of wrong) {
      writeFileSync(entry, JSON.stringify(preset.settings))
      const { id, kind } = preset
      const words = ["agents", "add", id, "--kind", kind, "--settings", entry]
      const { exit, stderr } = await corral.run(...words)
      assert.strictEqual(exit, 2, stderr)
      // The command gives a new agent its id as label.
      const sentence = await fileRefusal(entry, { ...preset, settings: { label: id, ...preset.settings } })
      const listed = stderr.replace(/^.*?not valid\. | \(schema_validation_failed \w+\)\s*$/g, "")
      const issues = listed.split(/; (?=id:|settings)/).map((issue) => ({
        path: issue.slice(0, issue.indexOf(":")),
        message: issue.slice(issue.indexOf(":") + 2)
      }))
      assert.strictEqual(fileSentence(preset, issues), sentence, stderr)
    }
  })
})
