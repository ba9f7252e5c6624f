/**
 * Where the windows of an editor have their agents: at an Edge of this machine, or at a Hub with the device elsewhere and `corral ahp` between. Also what
 * another client sees and decides there at the same time.
 */
import type { HubApproval, HubRun } from "@corral/domain/hub-api/HubRun"
import type { EdgeProcess } from "@corral/testing/edge/EdgeProcess"
import { CorralAhp } from "@corral/testing/editor/CorralAhp"
import type { HostAddress } from "@corral/testing/editor/Workbench"
import type { Joined } from "@corral/testing/stack/Joined"
import { until } from "@corral/testing/time/Until"
import { assert, onTestFinished } from "@effect/vitest"

/** A decision that has been made. */
interface Decided {
  readonly state: string
  readonly origin?: string
}

/** An approval that waits. */
export interface WaitingApproval {
  /** Denies it in the other client. Another decision may have been made before. */
  readonly deny: () => Promise<unknown>
  /** What was decided. */
  readonly decided: () => Promise<Decided>
}

export interface EditorHost {
  readonly address: HostAddress
  /** The folder that windows open. */
  readonly folder: string
  /** The workspace in which agents work. */
  readonly workspace: string
  /** Who decides, as lines name the person. */
  readonly person: string
  /** Where the other client is, as lines name it. */
  readonly otherPlace: string
  /** The only approval that waits. */
  readonly approval: () => Promise<WaitingApproval>
  /** Waits until the newest run is in this state. */
  readonly lastRunIs: (state: string) => Promise<unknown>
}

const WAIT_MS = 60_000

export const hostAtEdge = ({ client, port, token, workspace }: EdgeProcess): EditorHost => ({
  address: { port, token },
  folder: workspace,
  workspace,
  person: "local",
  otherPlace: "a terminal",
  approval: async () => {
    const [approval, ...others] = await client.approvals("state=pending")
    assert.isDefined(approval)
    assert.isEmpty(others)
    const { id, runId } = approval
    return { deny: () => client.decide(runId, id, "deny"), decided: () => client.approval(id) }
  },
  lastRunIs: (wanted) =>
    until(
      async () => {
        const { body } = await client.ask("GET", "/v1/runs?limit=1")
        return Object(body).items[0]?.state === wanted || undefined
      },
      `a run that is ${wanted}`,
      WAIT_MS
    )
})

/** The other client is the console in the browser of the owner. */
export const hostAtHub = async (joined: Joined): Promise<EditorHost> => {
  const { hub, owner, projectId } = joined
  const ahp = new CorralAhp(owner, "ws")
  onTestFinished(() => ahp.remove())
  const console = await hub.atBrowser("owner")
  const approvals = async (filter: string): Promise<ReadonlyArray<HubApproval>> => {
    const target = `/client/approvals?projectId=${projectId}${filter}`
    const { body } = await owner.ask<{ readonly items: ReadonlyArray<HubApproval> }>("GET", target)
    return body.items
  }
  return {
    address: await ahp.address(),
    folder: ahp.folder,
    workspace: joined.edge.workspace,
    person: "owner",
    otherPlace: "the console",
    approval: async () => {
      const [approval, ...others] = await approvals("&state=pending")
      assert.isDefined(approval)
      assert.isEmpty(others)
      return {
        deny: () =>
          console.ask("POST", `/client/approvals/${approval.id}/decide`, { body: { decision: "deny" } }),
        // The Hub has the decision of the Edge with the events of the run.
        decided: () =>
          until(async () => {
            const found = (await approvals("")).find(({ id }) => id === approval.id)
            return found === undefined || found.state === "pending" ? undefined : found
          }, "the decision at the Hub")
      }
    },
    lastRunIs: (wanted) =>
      until(
        async () => {
          const target = `/client/runs?projectId=${projectId}&limit=1`
          const { body } = await owner.ask<{ readonly items: ReadonlyArray<HubRun> }>("GET", target)
          return body.items[0]?.state === wanted || undefined
        },
        `a run that is ${wanted}`,
        WAIT_MS
      )
  }
}
