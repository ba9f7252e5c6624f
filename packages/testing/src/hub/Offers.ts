/** Devices of a running Hub, with the offers of their links. */
import { assert } from "@effect/vitest"
import type { Agent } from "@corral/domain/run/Agent"
import type { Device } from "@corral/domain/device/Device"
import type { AgentId, DeviceId, ProjectId, WorkspaceId } from "@corral/domain/identity/Ids"
import type { Workspace } from "@corral/domain/device/Workspace"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { generateKeyPairSync } from "node:crypto"
import type { HubClient } from "./HubClient.ts"
import type { HubProcess } from "./HubProcess.ts"

/** A new Ed25519 public key as base64url. */
export const newKey = (): string =>
  String(generateKeyPairSync("ed25519").publicKey.export({ format: "jwk" }).x)

/** A device of that person, shared with those projects. */
export const registerDevice = async (
  client: HubClient,
  {
    name = "laptop",
    sharedWith = []
  }: { readonly name?: string; readonly sharedWith?: ReadonlyArray<ProjectId> } = {}
): Promise<Device> => {
  const registered = await client.ask<Device>("POST", "/client/devices/register", {
    body: { name, kind: "edge", publicKey: newKey() }
  })
  assert.strictEqual(registered.status, 201, registered.text)
  if (sharedWith.length === 0) return registered.body
  const shared = await client.ask<Device>("PATCH", `/client/devices/${registered.body.id}`, {
    body: { sharedWith }
  })
  assert.strictEqual(shared.status, 200, shared.text)
  return shared.body
}

export interface ReportedOffer {
  readonly workspaces?: ReadonlyArray<string>
  readonly agents?: ReadonlyArray<string>
  /** Names of commands and features. Without them, the Edge is of an early version. */
  readonly commands?: ReadonlyArray<string>
  /** Whether the device is online afterwards. */
  readonly online?: boolean
}

const capabilities = {
  deltas: true,
  approvals: true,
  editInput: false,
  resume: false,
  readOnly: true,
  cancel: true,
  input: false
}

/** Stores an offer as the device's link would. */
export const reportOffer = (
  hub: HubProcess,
  deviceId: DeviceId,
  { agents = ["scripted"], commands, online = true, workspaces = ["site"] }: ReportedOffer = {}
): Promise<void> => {
  const offered: ReadonlyArray<Agent> = agents.map((id) => ({
    id: id as AgentId,
    label: `Agent ${id}`,
    runtime: id,
    available: true,
    capabilities
  }))
  const folders: ReadonlyArray<Workspace> = workspaces.map((id) => ({
    id: id as WorkspaceId,
    name: id,
    modes: ["ask"],
    git: true,
    available: true
  }))
  const now = Date.now()
  return hub.people.act(
    Effect.flatMap(SqlClient.SqlClient, (sql) =>
      Effect.asVoid(sql`
        UPDATE devices SET workspaces = ${JSON.stringify(folders)}, agents = ${JSON.stringify(offered)}, version = '1.2.3',
          commands = ${commands === undefined ? null : JSON.stringify(commands)}, last_seen_at = ${new Date(now)}, linked = ${online}, lease_until = ${online ? new Date(now + 45_000) : null}
        WHERE id = ${deviceId}`)
    )
  )
}
