import { replacedAdapters } from "@corral/domain/offer/Offer"
import type { AgentId } from "@corral/domain/identity/Ids"
import type { Agent } from "@corral/domain/run/Agent"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Option } from "effect"
import { agentFor } from "../../src/acp/EditorSessions.ts"

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
