/** `/client/projects`: projects, their members and the workspaces linked to them. */
import { Conflict } from "@corral/domain/errors/Failures"
import { HubApi } from "@corral/domain/hub-api/HubApi"
import { CurrentPrincipal } from "@corral/domain/hub-api/SessionAuthority"
import { Project, type ProjectMember } from "@corral/domain/project/Project"
import { pageOf } from "@corral/service/http/Paged"
import { Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { Audit } from "../audit/Audit.ts"
import { HubAuthority } from "../authority/HubAuthority.ts"
import { projectPosition, Projects } from "../project/Projects.ts"
import { type PlacedLink, WorkspaceLinks, linkOf } from "../project/WorkspaceLinks.ts"
import { Users } from "../signin/Users.ts"
import { decodePosition } from "../store/ListPage.ts"
import { type HubRequest, keyedWrite, withErrorObjects } from "./Handlers.ts"

const projectHandlers = Effect.gen(function* () {
  const audit = yield* Audit
  const authority = yield* HubAuthority
  const writeOnce = yield* keyedWrite
  const service = yield* Projects

  return {
    list: Effect.fnUntraced(function* ({ query: { cursor, limit } }: HubRequest<"projects", "list">) {
      const { userId } = yield* CurrentPrincipal
      const list = { filter: "projects", principal: userId, cursor, limit }
      return yield* pageOf(list, projectPosition, (after, limit) =>
        service.list(userId, after === undefined ? undefined : decodePosition(after), limit)
      )
    }, withErrorObjects),

    create: Effect.fnUntraced(function* ({ headers, payload }: HubRequest<"projects", "create">) {
      const { userId } = yield* CurrentPrincipal
      const request = { scope: `${userId} POST /client/projects`, headers, payload, response: Project }
      const auditedAction = { action: "project.create", resource: userId, projectId: null } as const
      return yield* writeOnce(
        request,
        audit.perform(auditedAction, service.create(userId, payload), ({ id }: Project) => ({
          resource: id,
          projectId: id
        }))
      )
    }, withErrorObjects),

    get: Effect.fnUntraced(function* ({ params: { id } }: HubRequest<"projects", "get">) {
      return yield* service.get(yield* authority.inProject("project.read", id))
    }, withErrorObjects),

    update: Effect.fnUntraced(function* ({ params: { id }, payload }: HubRequest<"projects", "update">) {
      const proof = yield* authority.inProject("project.update", id)
      const isPolicy = payload.approvals !== undefined || payload.chats !== undefined
      if (isPolicy) yield* authority.inProject("policy.manage", id)
      const action = isPolicy ? ("policy.manage" as const) : ("project.update" as const)
      return yield* audit.perform({ action, resource: id, projectId: id }, service.update(proof, payload))
    }, withErrorObjects),

    remove: Effect.fnUntraced(function* ({ params: { id } }: HubRequest<"projects", "remove">) {
      const proof = yield* authority.inProject("project.delete", id)
      const auditedAction = { action: "project.delete", resource: id, projectId: id } as const
      yield* audit.perform(auditedAction, service.remove(proof))
    }, withErrorObjects)
  }
})

const memberHandlers = Effect.gen(function* () {
  const audit = yield* Audit
  const authority = yield* HubAuthority
  const service = yield* Projects
  const users = yield* Users

  return {
    members: Effect.fnUntraced(function* ({
      params: { id },
      query: { cursor, limit }
    }: HubRequest<"projects", "members">) {
      const proof = yield* authority.inProject("project.read", id)
      const list = { filter: `members ${id}`, principal: proof.principal, cursor, limit }
      return yield* pageOf(
        list,
        ({ userId }: ProjectMember) => userId,
        (after, limit) => service.members(proof, after, limit)
      )
    }, withErrorObjects),

    addMember: Effect.fnUntraced(function* ({
      params: { id },
      payload: { email = "", role, userId }
    }: HubRequest<"projects", "addMember">) {
      const proof = yield* authority.inProject("member.manage", id, userId)
      // The trail names the user, never the address.
      const auditedAction = { action: "member.manage", resource: userId ?? id, projectId: id } as const
      const added = Effect.gen(function* () {
        const memberId =
          userId ?? (yield* users.withEmail(email)) ?? (yield* new Conflict({ message: UNKNOWN }))
        return yield* service.addMember(proof, memberId, role)
      })
      return yield* audit.perform(auditedAction, added, (member) => ({ resource: member.userId }))
    }, withErrorObjects),

    updateMember: Effect.fnUntraced(function* ({
      params: { id, userId },
      payload: { role }
    }: HubRequest<"projects", "updateMember">) {
      const proof = yield* authority.inProject("member.manage", id, userId)
      const auditedAction = { action: "member.manage", resource: userId, projectId: id } as const
      return yield* audit.perform(auditedAction, service.setRole(proof, userId, role))
    }, withErrorObjects),

    removeMember: Effect.fnUntraced(function* ({
      params: { id, userId }
    }: HubRequest<"projects", "removeMember">) {
      const proof = yield* authority.inProject("member.manage", id, userId)
      const auditedAction = { action: "member.manage", resource: userId, projectId: id } as const
      yield* audit.perform(auditedAction, service.removeMember(proof, userId))
    }, withErrorObjects)
  }
})

const workspaceHandlers = Effect.gen(function* () {
  const audit = yield* Audit
  const authority = yield* HubAuthority
  const links = yield* WorkspaceLinks

  return {
    workspaces: Effect.fnUntraced(function* ({
      params: { id },
      query: { cursor, limit }
    }: HubRequest<"projects", "workspaces">) {
      const proof = yield* authority.inProject("project.read", id)
      const list = { filter: `workspaces ${id}`, principal: proof.principal, cursor, limit }
      const page = yield* pageOf(
        list,
        ({ place }: PlacedLink) => place,
        (after, limit) => links.list(proof, after, limit)
      )
      return { ...page, items: page.items.map(linkOf) }
    }, withErrorObjects),

    linkWorkspace: Effect.fnUntraced(function* ({
      params: { id },
      payload: { targetId, workspace }
    }: HubRequest<"projects", "linkWorkspace">) {
      const proof = yield* authority.inProject("project.update", id, targetId)
      const target = yield* authority.toTarget(targetId)
      const auditedAction = { action: "project.update", resource: targetId, projectId: id } as const
      return yield* audit.perform(auditedAction, links.add(proof, target, workspace))
    }, withErrorObjects),

    unlinkWorkspace: Effect.fnUntraced(function* ({
      params: { id, targetId, workspace }
    }: HubRequest<"projects", "unlinkWorkspace">) {
      const proof = yield* authority.inProject("project.update", id, targetId)
      const auditedAction = { action: "project.update", resource: targetId, projectId: id } as const
      yield* audit.perform(auditedAction, links.remove(proof, targetId, workspace))
    }, withErrorObjects)
  }
})

export const projectEndpoints = HttpApiBuilder.group(
  HubApi,
  "projects",
  Effect.fnUntraced(function* (handlers) {
    return handlers.handleAll({
      ...(yield* projectHandlers),
      ...(yield* memberHandlers),
      ...(yield* workspaceHandlers)
    })
  })
)

/** Also if several users have the address: the right one is unknown. */
const UNKNOWN = "No single user has this address. Ask the person for their user id."
