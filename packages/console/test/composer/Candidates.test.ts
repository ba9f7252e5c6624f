import { assert, describe, it } from "@effect/vitest"
import type { Workspace } from "@corral/domain/device/Workspace"
import type { AgentId } from "@corral/domain/identity/Ids"
import type { Agent } from "@corral/domain/run/Agent"
import {
  commonModes,
  firstCandidates,
  hasEqualCandidates,
  isolationOf
} from "../../src/composer/CandidatesDialog.tsx"

const id = (name: string) => name as AgentId

describe("several agents for one task", () => {
  it("are different in their agent or in their model", () => {
    assert.isTrue(hasEqualCandidates([{ agentId: id("a") }, { agentId: id("a") }]))
    assert.isFalse(hasEqualCandidates([{ agentId: id("a") }, { agentId: id("a"), model: "m" }]))
    assert.isFalse(hasEqualCandidates([{ agentId: id("a") }, { agentId: id("b") }]))
  })

  it("begin with the current agent and another one", () => {
    const agents = [{ id: id("a") }, { id: id("b") }]
    const current = { agentId: id("b"), model: "m" }
    assert.deepStrictEqual(firstCandidates([], current, agents), [current, { agentId: id("a") }])
    assert.deepStrictEqual(firstCandidates([], current, [{ id: id("b") }]), [current, { agentId: id("b") }])
    assert.deepStrictEqual(firstCandidates([current], undefined, agents), [current])
  })

  it("have the modes that all of them have", () => {
    const workspace = { modes: ["read_only", "ask", "auto_edit"] } as unknown as Workspace
    const agent = (name: string, modes: ReadonlyArray<string>) =>
      ({ id: name, modes, capabilities: { approvals: true } }) as unknown as Agent
    const agents = [agent("a", ["ask", "auto_edit"]), agent("b", ["read_only", "ask"])]
    const both = [{ agentId: id("a") }, { agentId: id("b") }]
    assert.deepStrictEqual(commonModes(workspace, agents, both, "overlay"), ["ask"])
  })

  it("never write into the workspace itself", () => {
    assert.strictEqual(isolationOf(undefined, undefined), "overlay")
    assert.strictEqual(isolationOf("none", undefined), "overlay")
    assert.strictEqual(isolationOf("worktree", undefined), "worktree")
    assert.strictEqual(isolationOf(undefined, { isolation: "worktree" }), "worktree")
  })
})
