/** Agents of several targets as one inventory, and presence of a target. */
import { assert, describe, it } from "@effect/vitest"
import type { Agent } from "@corral/domain/run/Agent"
import type { DeviceState, Target } from "@corral/domain/device/Device"
import type { AgentId, DeviceId } from "@corral/domain/identity/Ids"
import { profilesOf } from "../../src/device/Inventory.ts"
import { deviceStateOf } from "../../src/device/DeviceRow.ts"

const capabilities = {
  deltas: true,
  approvals: true,
  editInput: true,
  resume: true,
  readOnly: true,
  cancel: true,
  input: true
}
const agent = (id: string, label = id, available = true): Agent => ({
  id: id as AgentId,
  label,
  runtime: id,
  available,
  capabilities
})
const target = (id: string, state: DeviceState, ...agents: ReadonlyArray<Agent>): Target => ({
  id: id as DeviceId,
  name: id,
  state,
  workspaces: [],
  agents
})

describe("profilesOf", () => {
  it("lists each agent once, by id, as the first target describes it", () => {
    const profiles = profilesOf([
      target("dev_2", "online", agent("codex", "Codex here"), agent("aider", "Aider", false)),
      target("dev_1", "offline", agent("codex", "Codex there"), agent("pi"))
    ])
    assert.deepStrictEqual(
      profiles.map(({ id, label, targets }) => [
        id,
        label,
        targets.map((one) => [one.targetId, one.available])
      ]),
      [
        ["aider", "Aider", [["dev_2", false]]],
        [
          "codex",
          "Codex here",
          [
            ["dev_2", true],
            ["dev_1", false]
          ]
        ],
        ["pi", "pi", [["dev_1", false]]]
      ]
    )
  })

  it("is empty without offers", () => {
    assert.deepStrictEqual(profilesOf([target("dev_1", "online")]), [])
  })
})

describe("deviceStateOf", () => {
  const now = 1_800_000_000_000
  it.each([
    ["never seen", null, null, "offline"],
    ["within its lease", null, now + 1, "online"],
    ["at its end", null, now, "offline"],
    ["revoked within its lease", now - 1, now + 45_000, "revoked"]
  ] as const)("%s", (_, revoked, lease, state) => {
    const at = (millis: number | null) => (millis === null ? null : new Date(millis))
    assert.strictEqual(deviceStateOf({ revoked_at: at(revoked), lease_until: at(lease) }, now), state)
  })
})
