/**
 * A Hub with Edges, joined as users join them: real processes behind a load balancer, devices that were registered with a join token, shared
 * with a project and linked to it by their workspace.
 *
 * Owns all of them; `remove` ends them.
 */
import { assert, onTestFinished } from "@effect/vitest"
import type { Device, JoinToken } from "@corral/domain/device/Device"
import type { HubRun } from "@corral/domain/hub-api/HubRun"
import type { DeviceId, ProjectId, RunId } from "@corral/domain/identity/Ids"
import type { Task } from "@corral/domain/task/Task"
import { newPrivateKey, publicKeyOf, writeDevice } from "@corral/edge/link/DeviceKey"
import { Effect } from "effect"
import path from "node:path"
import { EdgeProcess, type EdgeOptions } from "../edge/EdgeProcess.ts"
import { HubClient } from "../hub/HubClient.ts"
import { HubProcess } from "../hub/HubProcess.ts"
import { makeProject } from "../hub/People.ts"
import { until } from "../time/Until.ts"
import { LoadBalancer } from "./LoadBalancer.ts"

export interface JoinedOptions {
  readonly hubEnv?: Readonly<Record<string, string>>
  /** URL of an external PostgreSQL, which several Hubs require. */
  readonly databaseUrl?: string
  /** How many Hubs start before there is a user; 1 by default. */
  readonly hubs?: number
  /** Their program; that of this build by default. */
  readonly hubEntry?: string
  readonly edge?: EdgeOptions
  /** Makes the Edges; a process by default. */
  readonly makeEdge?: (options: EdgeOptions) => EdgeProcess
}

/** An Edge and the device that it is to the Hub. */
export interface JoinedEdge {
  readonly edge: EdgeProcess
  readonly deviceId: DeviceId
}

export interface TaskRequest {
  readonly text: string
  readonly mode?: string
  readonly agentId?: string
  readonly workspace?: string
  readonly isolation?: string
  readonly candidates?: ReadonlyArray<{ readonly agentId: string; readonly model?: string }>
  readonly onOffline?: "fail" | "queue"
  /** Headers of the request. */
  readonly headers?: Readonly<Record<string, string>>
}

export class Joined {
  readonly front: LoadBalancer
  readonly hubs: Array<HubProcess> = []
  readonly edges: Array<JoinedEdge> = []
  private people: { readonly owner: HubClient; readonly projectId: ProjectId } | undefined

  static async open(options: JoinedOptions = {}): Promise<Joined> {
    const front = await LoadBalancer.open()
    const joined = new Joined(front, options)
    for (let count = 0; count < (options.hubs ?? 1); count++) await joined.addHub()
    const owner = await joined.hub.signedIn("owner")
    const { id: projectId } = await makeProject(owner)
    joined.people = { owner, projectId }
    await joined.addEdge(options.edge)
    return joined
  }

  private readonly options: JoinedOptions

  private constructor(front: LoadBalancer, options: JoinedOptions) {
    this.front = front
    this.options = options
  }

  /** Starts another Hub behind the load balancer, on the first one's database. */
  async addHub(): Promise<HubProcess> {
    const hub = new HubProcess({ env: { CORRAL_HUB_PUBLIC_URL: this.front.url, ...this.options.hubEnv } })
    if (this.options.hubEntry !== undefined) hub.entry = this.options.hubEntry
    hub.databaseUrl = this.hubs[0]?.databaseUrl ?? this.options.databaseUrl
    this.hubs.push(hub)
    await hub.start()
    this.found()
    return hub
  }

  /** Updates the load balancer with the addresses of the Hubs. */
  found(): void {
    this.front.ports = this.hubs.map(({ url }) => Number(new URL(url).port))
  }

  /** The first Hub. */
  get hub(): HubProcess {
    const [hub] = this.hubs
    assert.isDefined(hub)
    return hub
  }

  /** Client of the user who owns the project and the devices. */
  get owner(): HubClient {
    assert.isDefined(this.people)
    const { token, userId } = this.people.owner
    // The Hub may have another address after a restart.
    return new HubClient(this.hub.url, token, userId)
  }

  get projectId(): ProjectId {
    assert.isDefined(this.people)
    return this.people.projectId
  }

  /** The first Edge. */
  get edge(): EdgeProcess {
    return this.first.edge
  }

  get deviceId(): DeviceId {
    return this.first.deviceId
  }

  private get first(): JoinedEdge {
    const [first] = this.edges
    assert.isDefined(first)
    return first
  }

  /** Registers an Edge, shares it with the project, and waits until it is online. */
  async addEdge(options: EdgeOptions = {}): Promise<JoinedEdge> {
    const { makeEdge = (edgeOptions: EdgeOptions) => new EdgeProcess(edgeOptions) } = this.options
    const edge = makeEdge(options)
    const idsBefore = new Set((await this.devices()).map(({ id }) => id))
    await join(edge.home, this.front.url, await this.joinToken())
    const device = (await this.devices()).find(({ id }) => !idsBefore.has(id))
    assert.isDefined(device)
    const joined = { edge, deviceId: device.id }
    this.edges.push(joined)
    const shared = await this.owner.ask("PATCH", `/client/devices/${device.id}`, {
      body: { sharedWith: [this.projectId] }
    })
    assert.strictEqual(shared.status, 200, shared.text)
    await edge.start()
    await this.online(device.id)
    const linked = await this.owner.ask("POST", `/client/projects/${this.projectId}/workspaces`, {
      body: { targetId: device.id, workspace: "ws" }
    })
    assert.strictEqual(linked.status, 201, linked.text)
    return joined
  }

  async joinToken(): Promise<string> {
    const created = await this.owner.ask<JoinToken>("POST", "/client/devices/join-tokens", { body: {} })
    assert.strictEqual(created.status, 201, created.text)
    return created.body.token
  }

  async devices(): Promise<ReadonlyArray<Device>> {
    return (
      await this.owner.ask<{ readonly items: ReadonlyArray<Device> }>("GET", "/client/devices?limit=200")
    ).body.items
  }

  /** Waits until the device is in that state. */
  online(
    id: DeviceId = this.deviceId,
    state: Device["state"] = "online",
    client = this.owner
  ): Promise<Device> {
    return until(
      async () => {
        const { body } = await client.ask<Device>("GET", `/client/devices/${id}`)
        return body.state === state ? body : undefined
      },
      `the device ${state}`,
      60_000
    )
  }

  tryTask(
    { agentId = "scripted", headers = {}, mode = "ask", text, workspace = "ws", ...more }: TaskRequest,
    client = this.owner
  ) {
    const body = {
      projectId: this.projectId,
      targetId: this.deviceId,
      workspace,
      agentId,
      mode,
      input: { text },
      ...more
    }
    return client.ask<Task>("POST", "/web/agent-tasks", { body, headers })
  }

  /** A task, and the id of its run. */
  async task(ask: TaskRequest, client = this.owner): Promise<{ readonly task: Task; readonly runId: RunId }> {
    const created = await this.tryTask(ask, client)
    assert.strictEqual(created.status, 201, created.text)
    const task = await this.taskWith(created.body.id, ({ runId }) => runId !== undefined, client)
    assert.isDefined(task.runId)
    return { task, runId: task.runId }
  }

  taskWith(id: string, holds: (task: Task) => boolean, client = this.owner): Promise<Task> {
    return until(
      async () => {
        const { body } = await client.ask<Task>("GET", `/client/tasks/${id}`)
        return holds(body) ? body : undefined
      },
      `the task ${id} as awaited`,
      30_000
    )
  }

  /** The run at the Hub, once `holds` returns true. */
  runWith(id: RunId, holds: (run: HubRun) => boolean, client = this.owner): Promise<HubRun> {
    return until(
      async () => {
        const { body } = await client.ask<HubRun>("GET", `/client/runs/${id}`)
        return holds(body) ? body : undefined
      },
      `the run ${id} as awaited`,
      60_000
    )
  }

  async remove(): Promise<void> {
    for (const { edge } of this.edges) await edge.remove()
    // The first one made the database.
    for (const hub of this.hubs.toReversed()) await hub.remove()
    await this.front.close()
  }
}

/** What `corral device join` does, without the command. */
export const join = async (home: string, hub: string, joinToken: string): Promise<void> => {
  const privateKey = newPrivateKey()
  const name = "laptop"
  const registered = await new HubClient(hub, null).ask<Device>("POST", "/client/devices/register", {
    body: { name, kind: "edge", publicKey: publicKeyOf(privateKey), joinToken }
  })
  assert.strictEqual(registered.status, 201, registered.text)
  await Effect.runPromise(
    writeDevice(path.join(home, "device.json"), { hub, deviceId: registered.body.id, name, privateKey })
  )
}

/** A joined pair for one test. */
export const openJoined = async (options?: JoinedOptions): Promise<Joined> => {
  const joined = await Joined.open(options)
  onTestFinished(() => joined.remove())
  return joined
}
