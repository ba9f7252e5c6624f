import { assert, describe, it } from "@effect/vitest"
import type { Agent } from "@corral/domain/run/Agent"
import type { Target } from "@corral/domain/device/Device"
import type { WorkspaceLink } from "@corral/domain/project/Project"
import type { RunMode } from "@corral/domain/run/Run"
import type { Workspace } from "@corral/domain/device/Workspace"
import { agentsOn, startModes, targetsFor, usualMode, workspacesOn } from "../../src/start/Offer.ts"

const workspace = (id: string, modes: ReadonlyArray<RunMode> = ["read_only", "ask"]) =>
  ({ id, name: id, modes, git: false, available: true }) as Workspace
// What the offer does not look at is left out.
const target = (id: string, state: Target["state"], workspaces: ReadonlyArray<Workspace> = []) =>
  ({ id, name: id, state, workspaces, agents: [] }) as unknown as Target
// As above: who linked it, and when, is not looked at.
const link = (targetId: string, id: string) => ({ targetId, workspace: id }) as unknown as WorkspaceLink
const agent = (id: string, available: boolean, modes?: ReadonlyArray<RunMode>) =>
  ({ id, label: id, available, ...(modes === undefined ? {} : { modes }) }) as Agent

describe("Offer", () => {
  it("lists linked devices, online devices first", () => {
    const targets = [target("away", "offline"), target("here", "online"), target("unlinked", "online")]
    const found = targetsFor(targets, [link("away", "a"), link("here", "b"), link("here", "c")])
    assert.deepStrictEqual(
      found.map(({ id }): string => id),
      ["here", "away"]
    )
  })

  it("marks linked workspaces that the device no longer offers", () => {
    const here = target("here", "online", [workspace("b"), workspace("unlinked")])
    const found = workspacesOn(here, [link("here", "b"), link("here", "gone"), link("away", "a")])
    assert.deepStrictEqual(
      found.map(({ id, offered }): readonly [string, boolean] => [id, offered !== undefined]),
      [
        ["b", true],
        ["gone", false]
      ]
    )
    assert.deepStrictEqual(workspacesOn(undefined, [link("here", "b")]), [])
  })

  it("lists available agents first and keeps their order", () => {
    const agents = [agent("x", false), agent("y", true), agent("z", true)]
    const found = agentsOn({ ...target("here", "online"), agents })
    assert.deepStrictEqual(
      found.map(({ id }): string => id),
      ["y", "z", "x"]
    )
  })

  it("offers modes that workspace and agent allow, with ask as the default", () => {
    const modes = startModes(workspace("b", ["read_only", "plan", "ask"]), agent("x", true, ["ask", "plan"]))
    assert.deepStrictEqual(modes, ["plan", "ask"])
    assert.strictEqual(usualMode(modes), "ask")
    assert.strictEqual(usualMode(["read_only", "plan"]), "read_only")
    assert.isUndefined(usualMode(startModes(undefined, agent("x", true))))
    assert.deepStrictEqual(startModes(workspace("b"), agent("x", true)), ["read_only", "ask"])
  })
})
