/**
 * Whether somebody may do something in a project: the role that they hold, looked up each time, and the proof that services ask for.
 *
 * What a person may not read and what is not there get the same refusal, after the same look-up. Refusals are audited where there is a
 * project to audit them in.
 */
import { type Proof, prove, type RoleAction, roleRefusal } from "@corral/domain/Authorization"
import { PermissionDenied } from "@corral/domain/Failures"
import { CurrentPrincipal } from "@corral/domain/hub-api/SessionAuthority"
import type { ProjectId } from "@corral/domain/Ids"
import type { ProjectRole, ProjectVisibility } from "@corral/domain/Project"
import { CurrentRequestId } from "@corral/domain/RequestContext"
import { Context, Effect, Layer } from "effect"
import { SqlClient, type SqlError } from "effect/sql"
import { Audit } from "../audit/Audit.ts"

/** A proof that names its project and the role that it rests on. */
export type ProjectProof<A extends RoleAction> = Proof<A> & { readonly role: ProjectRole }

export class Authority extends Context.Service<
  Authority,
  {
    /** That the caller may do `action` in the project. `resource` is what the audit names; the project itself where it is absent. */
    readonly inProject: <A extends RoleAction>(
      action: A,
      projectId: ProjectId,
      resource?: string
    ) => Effect.Effect<
      ProjectProof<A>,
      PermissionDenied | SqlError.SqlError,
      CurrentPrincipal | CurrentRequestId
    >
  }
>()("corral/hub/Authority") {
  static readonly layer = Layer.effect(
    Authority,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const audit = yield* Audit
      return Authority.of({
        inProject: Effect.fnUntraced(function* (action, projectId, resource = projectId) {
          const { userId } = yield* CurrentPrincipal
          const [row] = yield* sql<Row>`
            SELECT visibility, (
              SELECT role FROM project_members WHERE project_id = projects.id AND user_id = ${userId}
            ) AS role
            FROM projects WHERE id = ${projectId}`
          const role = row === undefined ? undefined : heldOf(row)
          const proof = prove(action, { principal: userId, subject: projectId }, roleRefusal(action, role))
          if (proof._tag === "Success" && role !== undefined) return { ...proof.success, role }
          if (row !== undefined) {
            const requestId = yield* CurrentRequestId
            const code = "permission_denied"
            yield* audit.record({
              action,
              resource,
              projectId,
              actor: userId,
              requestId,
              outcome: "denied",
              code
            })
          }
          return yield* proof._tag === "Failure" ? proof.failure : new PermissionDenied()
        })
      })
    })
  )
}

interface Row {
  readonly visibility: ProjectVisibility
  readonly role: ProjectRole | null
}

/** Everyone who can sign in may read what is internal. */
const heldOf = ({ role, visibility }: Row): ProjectRole | undefined =>
  role ?? (visibility === "internal" ? "viewer" : undefined)
