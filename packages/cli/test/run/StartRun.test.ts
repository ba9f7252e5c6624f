import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { CommandFailed, exitCodes, refused } from "../../src/CommandFailed.ts"
import { withChoices } from "../../src/run/StartRun.ts"

const choices = Effect.succeed({ agents: ["claude", "codex\u001b[2J"], workspaces: [] })
const failure = (code: string) =>
  new CommandFailed({ message: "There is no agent with this id.", exitCode: exitCodes.refused, code })

describe("withChoices", () => {
  it.effect.each([
    ["invalid_agent_id", "There is no agent with this id. Available agents: claude, codex␛[2J."],
    ["workspace_outside_allowlist", "There is no agent with this id. Available workspaces: none."],
    ["overloaded", "There is no agent with this id."]
  ] as const)("adds what there is to a failure with the code %s", ([code, expected]) =>
    Effect.gen(function* () {
      const failed = yield* Effect.flip(withChoices({ choices })(Effect.fail(failure(code))))
      assert.deepStrictEqual([failed.message, failed.code, failed.exitCode], [expected, code, 2])
    })
  )

  it.effect("keeps the failure where the list can't be read", () =>
    Effect.gen(function* () {
      const unreadable = { choices: Effect.fail(refused("No connection.")) }
      const failed = yield* Effect.flip(withChoices(unreadable)(Effect.fail(failure("invalid_agent_id"))))
      assert.strictEqual(failed.message, "There is no agent with this id.")
    })
  )
})
