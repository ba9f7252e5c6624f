import { replacedAdapters } from "@corral/domain/offer/Offer"
import type { AgentId } from "@corral/domain/identity/Ids"
import type { Agent } from "@corral/domain/run/Agent"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Option } from "effect"
import { agentFor, workspaceOf } from "../../src/acp/EditorSessions.ts"

const agentOf = (id: string): Agent => ({
  id: id as AgentId, // an id of the test
  label: id,
  runtime: id,
  available: true,
  capabilities: {
    deltas: true,
    approvals: true,
    editInput: false,
    resume: true,
    readOnly: true,
    cancel: true,
    input: true
  }
})

describe.each([...replacedAdapters])("a command that names %s", (replaced, by) => {
  const agents = [agentOf("scripted"), agentOf(by)]

  it.effect("opens sessions of an editor with the agent that replaced it", () =>
    Effect.gen(function* () {
      assert.strictEqual((yield* agentFor(agents, Option.some(replaced))).id, by)
      assert.strictEqual((yield* agentFor(agents, Option.none())).id, "scripted")
    })
  )
})

describe("workspaceOf", () => {
  const site = { id: "site", name: "site" }
  const failure = (
    all: ReadonlyArray<typeof site>,
    cwd: string,
    wanted: Option.Option<string>,
    isHub = false
  ) => Effect.map(Effect.flip(workspaceOf(all, cwd, wanted, isHub)), ({ message }) => message)

  it.effect("names a workspace that does not exist, and how to add one", () =>
    Effect.gen(function* () {
      assert.strictEqual(
        yield* failure([site], "/home/alice/code/site", Option.some("sit")),
        "There is no workspace sit. Available: site. To add one, start Corral with `corral up --workspace ID=PATH`."
      )
      assert.strictEqual(
        yield* failure([site], "/home/alice/code/site", Option.some("sit"), true),
        "There is no workspace sit. Available: site. Link others in the console."
      )
    })
  )

  it.effect("names the folder that no workspace fits, and the flag that chooses one", () =>
    Effect.gen(function* () {
      assert.strictEqual(
        yield* failure([site], "/home/alice/other", Option.none()),
        "No workspace is named like /home/alice/other. Choose one with `--workspace`. Available: site. To add one, start Corral with `corral up --workspace ID=PATH`."
      )
    })
  )

  it.effect("names the flag of the device if several have the workspace", () =>
    Effect.gen(function* () {
      assert.strictEqual(
        yield* failure([site, site], "/home/alice/code/site", Option.some("site"), true),
        "Several devices have a workspace site. Choose one with `--target`. Available: site."
      )
    })
  )
})
