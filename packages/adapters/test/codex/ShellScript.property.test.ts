import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import { scriptOf } from "../../src/codex/Tools.ts"

/** One word as a shell reads it back, quoted in either way. */
const quoted = (text: string, double: boolean): string =>
  double ? `"${text.replaceAll(/["\\$`]/g, "\\$&")}"` : `'${text.replaceAll("'", `'"'"'`)}'`

describe("scriptOf", () => {
  it.prop("gives back any script that was quoted", [Schema.String, Schema.Boolean], ([script, double]) => {
    assert.strictEqual(scriptOf(`/bin/bash -lc ${quoted(script, double)}`), script)
  })

  it.prop("leaves a line alone that does more than run it", [Schema.String], ([script]) => {
    for (const more of ["; id", " && id", " extra", " > file", " $(id)", "\nid"]) {
      const line = `/bin/bash -lc ${quoted(script, false)}${more}`
      assert.strictEqual(scriptOf(line), line)
    }
  })
})
