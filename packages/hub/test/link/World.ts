/** A user with a project and a device with a key that is shared with the project. */
import { assert } from "@effect/vitest"
import type { Device } from "@corral/domain/device/Device"
import type { DeviceId, ProjectId } from "@corral/domain/identity/Ids"
import type { Task, TaskState } from "@corral/domain/task/Task"
import { until as untilFound } from "@corral/testing/time/Until"
import type { HubClient } from "@corral/testing/hub/HubClient"
import type { HubProcess } from "@corral/testing/hub/HubProcess"
import { type KeyPair, newKeyPair } from "../harness/LinkedEdge.ts"
import { createRun, Mirror } from "@corral/testing/hub/Mirror"

export interface World {
  readonly client: HubClient
  readonly projectId: ProjectId
  readonly deviceId: DeviceId
  readonly key: KeyPair
}

/** A new device of that user. */
export const deviceOf = async (
  client: HubClient,
  kind: "desktop" | "edge" = "edge",
  ...sharedWith: ReadonlyArray<ProjectId>
): Promise<{ readonly deviceId: DeviceId; readonly key: KeyPair }> => {
  const key = newKeyPair()
  const created = await client.ask<Device>("POST", "/client/devices/register", {
    body: { name: "laptop", kind, publicKey: key.publicKey }
  })
  assert.strictEqual(created.status, 201, created.text)
  const { id } = created.body
  if (sharedWith.length > 0) await client.ask("PATCH", `/client/devices/${id}`, { body: { sharedWith } })
  return { deviceId: id, key }
}

let people = 0

export const worldOf = async (hub: HubProcess): Promise<World> => {
  const client = await hub.signedIn(`person ${++people}`)
  const projectId = await new Mirror(hub).project(client.userId)
  return { client, projectId, ...(await deviceOf(client, "edge", projectId)) }
}

export const stateOf = async ({ client, deviceId }: World): Promise<string> =>
  (await client.ask<Device>("GET", `/client/devices/${deviceId}`)).body.state

/** Polls until the condition holds. */
export const until = async (what: string, look: () => Promise<boolean>): Promise<void> => {
  await untilFound(async () => ((await look()) ? true : undefined), what, 20_000)
}

export const makeTask = (
  { client, deviceId, projectId }: World,
  more: Record<string, unknown> = {},
  headers: Readonly<Record<string, string>> = {}
) =>
  client.ask<Task>("POST", "/web/agent-tasks", {
    headers,
    body: { ...createRun, projectId, targetId: deviceId, ...more }
  })

export const untilTask = async ({ client }: World, id: string, ...states: ReadonlyArray<TaskState>) => {
  let task: Task | undefined
  await until(`the task ${states.join(" or ")}`, async () => {
    task = (await client.ask<Task>("GET", `/client/tasks/${id}`)).body
    return states.includes(task.state)
  })
  assert.isDefined(task)
  return task
}
