import { assert, describe, it } from "@effect/vitest"
import { setupCommand } from "../../src/composer/AgentDialogs.tsx"

describe("setupCommand", () => {
  it("is the command of an installation or a sign-in", () => {
    assert.strictEqual(
      setupCommand("Install Codex: npm install -g @openai/codex"),
      "npm install -g @openai/codex"
    )
    assert.strictEqual(
      setupCommand("Run `codex login`. A provider with its own key needs none."),
      "codex login"
    )
  })

  it("is none in other sentences", () => {
    for (const hint of [undefined, "", "Reinstall it.", "Run ` and stop", "Run `` now"])
      assert.isUndefined(setupCommand(hint))
  })
})
