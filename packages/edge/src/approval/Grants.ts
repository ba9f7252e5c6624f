/**
 * Grants that last longer than one run: rows that cover exactly the shown action, for one agent in one workspace.
 *
 * Guarantees: every check reads the disk, so a grant takes effect once it is durable, and ends with its removal.
 * Does not: define coverage (`GrantRules`), or decide whether to ask (`RunPolicy`).
 */
import type { Grant, GrantRule } from "@corral/domain/approval/Grant"
import { NotFound } from "@corral/domain/errors/Failures"
import type { AgentId, GrantId, RunId, WorkspaceId } from "@corral/domain/identity/Ids"
import { idsOfAgent } from "@corral/domain/offer/Offer"
import type { Run } from "@corral/domain/run/Run"
import { Context, Effect, Layer } from "effect"
import { createHash } from "node:crypto"
import { findRun, hasOtherLog } from "../log/Runs.ts"
import { Store, type StoreFailed, type Write } from "../store/Store.ts"
import { currentProgramPolicy } from "./EdgeApprovalPolicy.ts"
import { type ConfiguredGrant, ruleKey, rulesOf, unusableReason } from "./GrantRules.ts"
import { workspacePathsAt } from "./PathTarget.ts"
import { RunPolicy } from "./RunPolicy.ts"
import { parseStored } from "../store/StoreDamage.ts"
import { workspaceReader } from "../workspace/WorkspaceSource.ts"

export class Grants extends Context.Service<
  Grants,
  {
    /** Up to `limit` grants after `after`, oldest first. */
    readonly page: (options: {
      readonly after?: string | undefined
      readonly workspace?: WorkspaceId | undefined
      readonly limit: number
    }) => ReadonlyArray<Grant>
    /** Succeeds when the removal is durable. From then on the grant covers no run. */
    readonly remove: (id: GrantId) => Effect.Effect<void, NotFound>
    /** Deletes the grants of a run's session, if no other run of the session has a log. */
    readonly forgetRun: (runId: RunId) => Effect.Effect<void, StoreFailed>
    /** Deletes the grants of an agent, whose id will name another one. */
    readonly forgetAgent: (agentId: AgentId) => Effect.Effect<void, StoreFailed>
    /** Rules of the configuration for a workspace and, in `ofAgent`, an agent. */
    readonly configuredFor: (
      workspace: WorkspaceId,
      ofAgent?: ReadonlyArray<ConfiguredGrant>
    ) => ReadonlyArray<GrantRule>
    /**
     * The policy of one run whose folder has the real path `root`. `ofAgent` are the configuration's grants for its agent.
     * The run may read `attachmentFolder`.
     */
    readonly forRun: (
      run: Pick<Run, "workspace" | "agentId" | "sessionId" | "mode" | "confinement" | "layer">,
      root: string,
      ofAgent?: ReadonlyArray<ConfiguredGrant>,
      attachmentFolder?: string
    ) => RunPolicy
  }
>()("corral/edge/Grants") {
  static readonly layer = Layer.effect(
    Grants,
    Effect.gen(function* () {
      const store = yield* Store
      const program = yield* currentProgramPolicy
      const workspaces = yield* workspaceReader
      /** Rules of the workspace now. Those of a source are not checked before. */
      const configured = (id: string) =>
        rulesOf(workspaces().byId.get(id)?.grants ?? []).filter((rule) => unusableReason(rule) === undefined)
      const configuredFor = (workspace: WorkspaceId, ofAgent: ReadonlyArray<ConfiguredGrant> = []) => [
        ...configured(workspace),
        ...rulesOf(ofAgent)
      ]
      return Grants.of({
        configuredFor,
        page: ({ after = "", limit, workspace }) =>
          (workspace === undefined
            ? store.all<Row>("SELECT body FROM grants WHERE id > ? ORDER BY id LIMIT ?", after, limit)
            : store.all<Row>(
                "SELECT body FROM grants WHERE workspace = ? AND id > ? ORDER BY id LIMIT ?",
                workspace,
                after,
                limit
              )
          ).map(parse),
        remove: Effect.fn("Grants.remove")(function* (id) {
          if (store.get("SELECT id FROM grants WHERE id = ?", id) === undefined) return yield* new NotFound()
          yield* Effect.orDie(store.commit([["DELETE FROM grants WHERE id = ?", id]]))
        }),
        forgetRun: (runId) =>
          Effect.suspend(() => {
            const sessionId = findRun(store, runId)?.sessionId
            const grants = "SELECT id FROM grants WHERE session_id = ?"
            if (sessionId === undefined || store.get(grants, sessionId) === undefined) return Effect.void
            if (hasOtherLog(store, runId, sessionId)) return Effect.void
            return store.commit([["DELETE FROM grants WHERE session_id = ?", sessionId]])
          }),
        forgetAgent: (agentId) =>
          store.commit([["DELETE FROM grants WHERE json_extract(body, '$.agentId') = ?", agentId]]),
        forRun: (run, root, ofAgent = [], attachmentFolder = undefined) =>
          new RunPolicy({
            run,
            attachmentFolder,
            place: workspacePathsAt(root),
            configured: configuredFor(run.workspace, ofAgent),
            isLayered: run.layer?.enforced,
            hasConfinedGrant:
              run.confinement?.kind === "bubblewrap"
                ? () => workspaces().byId.get(run.workspace)?.grants?.includes("confined") === true
                : undefined,
            storedGrant: (rule, sessionId) =>
              store.get<{ readonly id: GrantId }>(
                `SELECT id FROM grants WHERE workspace = ? AND rule_key IN (SELECT value FROM json_each(?))
                 AND (session_id IS NULL OR session_id = ?)`,
                run.workspace,
                JSON.stringify(idsOfAgent(run.agentId).map((id) => grantKey(id, rule))),
                sessionId ?? ""
              )?.id,
            put: putGrant,
            program
          })
      })
    })
  )
}

interface Row {
  readonly body: string
}

// This program wrote the row from a value of type Grant.
const parse = ({ body }: Row): Grant => parseStored<Grant>(body, "grant")

/** Short for any rule. Contains the agent, because tools of other agents may have the same names. */
const grantKey = (agentId: AgentId, rule: GrantRule): string =>
  createHash("sha256")
    .update(JSON.stringify([agentId, ruleKey(rule)]))
    .digest("hex")

const insert = "INSERT INTO grants (id, workspace, session_id, rule_key, body) VALUES (?, ?, ?, ?, ?)"

/** Adds a grant. */
export const putGrant = (grant: Grant): Write => [
  insert,
  grant.id,
  grant.workspace,
  grant.sessionId ?? null,
  grantKey(grant.agentId, grant.rule),
  JSON.stringify(grant)
]
