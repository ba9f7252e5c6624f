/**
 * Corral under the fault matrix: a Hub on a separate PostgreSQL, one Edge whose link is a separate connection, a Gateway on a fake
 * Feishu, and the `corral` command. Real processes.
 *
 * The Hub keeps its port, so that surfaces reach it at one address; only the Edge reaches it through the link.
 */
import { startPostgres, freePort, type PostgresServer } from "@corral/testing/postgres/PostgresServer"
import { until } from "@corral/testing/time/Until"
import { assert } from "@effect/vitest"
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync
} from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Chats } from "../joined/Chats.ts"
import { Corral } from "../e2e/Corral.ts"
import { signIn } from "../e2e/SignIn.ts"
import { apiSurface } from "./ApiSurface.ts"
import { chatSurface } from "./ChatSurface.ts"
import { cliSurface } from "./CliSurface.ts"
import { consoleSurface } from "./ConsoleSurface.ts"
import { conversationRecord } from "./ConversationRecord.ts"
import type {
  ConversationRecord,
  FaultName,
  FaultProduct,
  FaultSurface,
  SurfaceName
} from "./FaultProduct.ts"
import { EFFECTS, gateOf } from "./ScriptedWork.ts"

/** Longer than any fault of the matrix. */
const ORPHAN_MS = "600000"

/** One for each surface: agents that share a workspace take turns. The first one is the chat's. */
const workspaceIds = ["ws", "api", "console", "cli"] as const

export class CorralUnderFaults implements FaultProduct {
  readonly surfaces: Readonly<Record<SurfaceName, FaultSurface>>
  readonly faults: Readonly<Record<FaultName, () => Promise<void>>>
  private readonly chats: Chats
  private readonly database: PostgresServer

  private readonly corral: Corral

  private readonly folder: string

  static async open(): Promise<CorralUnderFaults> {
    const folder = mkdtempSync(join(realpathSync(tmpdir()), "corral-faults-"))
    const settings = workspaceIds.map((id) => ({ id, path: join(folder, id) }))
    for (const { path } of settings) mkdirSync(path)
    const database = await startPostgres()
    const port = await freePort()
    const chats = await Chats.open({
      gatewayEnv: { CORRAL_HUB_URL: `http://127.0.0.1:${port}` },
      gatewayServer: database.url,
      joined: {
        databaseUrl: database.url,
        hubEnv: { CORRAL_HUB_PORT: String(port) },
        edge: {
          env: {
            CORRAL_EDGE_WORKSPACES: JSON.stringify(settings),
            CORRAL_EDGE_ORPHAN_MS: ORPHAN_MS,
            CORRAL_EDGE_CANCEL_GRACE_MS: "500"
          }
        }
      }
    })
    const { deviceId, hub, owner, projectId } = chats.joined
    const user = await chats.linked("owner")
    // The chat keeps its location, also when there are others.
    await chats.sendMessage(user, "use 1")
    await chats.settled()
    for (const workspace of workspaceIds.slice(1)) {
      const body = { targetId: deviceId, workspace }
      const linked = await owner.ask("POST", `/client/projects/${projectId}/workspaces`, { body })
      assert.strictEqual(linked.status, 201, linked.text)
    }
    const placement = { deviceId, projectId }
    const corral = new Corral()
    await signIn(corral, chats.joined, hub.url)
    const { token } = await hub.people.signIn("owner", "web")
    return new CorralUnderFaults(folder, database, chats, corral, {
      API: apiSurface(hub.url, owner.token ?? "", { ...placement, workspace: "api" }),
      console: consoleSurface(hub.url, token, { ...placement, workspace: "console" }),
      CLI: cliSurface(corral, "cli"),
      chat: chatSurface(chats, user)
    })
  }

  private constructor(
    folder: string,
    database: PostgresServer,
    chats: Chats,
    corral: Corral,
    surfaces: CorralUnderFaults["surfaces"]
  ) {
    this.folder = folder
    this.database = database
    this.chats = chats
    this.corral = corral
    this.surfaces = surfaces
    const { edge, hub } = chats.joined
    this.faults = {
      "Edge killed": async () => {
        await edge.kill()
        await edge.start()
      },
      "Hub killed": async () => {
        await hub.end("SIGKILL")
        await hub.start()
      },
      "link cut": async () => {
        await this.cutLink()
        this.restoreLink()
      },
      "Edge and Hub killed": async () => {
        await Promise.all([edge.kill(), hub.end("SIGKILL")])
        await hub.start()
        await edge.start()
      },
      "database restarted": () => database.restart()
    }
  }

  async cutLink(): Promise<void> {
    const { front } = this.chats.joined
    const { refused } = front
    front.ports = []
    front.cut()
    await until(async () => (front.refused > refused ? true : undefined), "the Edge's next try", 30_000)
  }

  restoreLink(): void {
    this.chats.joined.found()
  }

  effects(): ReadonlyArray<string> {
    return workspaceIds.flatMap((id) => {
      const file = join(this.folder, id, EFFECTS)
      return existsSync(file) ? readFileSync(file, "utf8").trim().split("\n") : []
    })
  }

  release(name: string): void {
    for (const id of workspaceIds) writeFileSync(join(this.folder, id, gateOf(name)), "")
  }

  record(name: string): Promise<ConversationRecord> {
    return conversationRecord(this.chats.joined, name)
  }

  async remove(): Promise<void> {
    await this.corral.close()
    await this.chats.remove()
    await this.database.stop()
    rmSync(this.folder, { recursive: true, force: true })
  }
}
