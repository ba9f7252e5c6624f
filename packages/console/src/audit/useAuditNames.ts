/**
 * Names for audit sentences: projects, devices and members by list, the other resources of the shown records one by one.
 *
 * *Guarantees:* a resource is asked for once. A resource that the reader can't see has no name, and causes no error.
 */
import { CorralError } from "@corral/client/http/CorralError"
import type { AuditRecord } from "@corral/domain/access/Audit"
import type { ApprovalId, ProjectId, RunId, SessionId, TaskId } from "@corral/domain/identity/Ids"
import { useQueries } from "@tanstack/react-query"
import { useCurrentUser } from "../api/CurrentUser.ts"
import { hubApi } from "../api/Hub.ts"
import { useProjects, useTargets } from "../api/ProjectsAndTargets.ts"
import { promptTitle } from "../runs/RunRows.tsx"
import type { AuditNames } from "./auditSentence.ts"

interface NamedResource {
  readonly name: string
  readonly reason?: string
  readonly agentId?: string
}

const members = 200

/** Readers by prefix. A project stands for its members. */
const readers: {
  readonly [Prefix in string]?: (id: string) => Promise<ReadonlyArray<[string, NamedResource]>>
} = {
  apr_: async (id) => {
    const { reason, request } = await hubApi.approvals.get({ params: { id: id as ApprovalId } })
    return [[id, { name: request.title, ...(reason === undefined ? {} : { reason }) }]]
  },
  tsk_: async (id) => {
    const { agentId, input } = await hubApi.tasks.get({ params: { id: id as TaskId } })
    return [[id, { name: promptTitle(input.text), agentId }]]
  },
  run_: async (id) => {
    const { input } = await hubApi.runs.get({ params: { id: id as RunId } })
    return [[id, { name: promptTitle(input.text) }]]
  },
  ses_: async (id) => {
    const { title } = await hubApi.sessions.get({ params: { id: id as SessionId } })
    return [[id, { name: title }]]
  },
  prj_: async (id) => {
    const { items } = await hubApi.projects.members({
      params: { id: id as ProjectId },
      query: { limit: members }
    })
    return items.map(({ name, userId }) => [userId, { name }])
  }
}

const isHidden = (error: unknown): boolean =>
  error instanceof CorralError && ["permission_denied", "not_found"].includes(error.code)

const named = async (id: string): Promise<ReadonlyArray<[string, NamedResource]>> => {
  try {
    return (await readers[id.slice(0, 4)]?.(id)) ?? []
  } catch (error) {
    if (isHidden(error)) return []
    throw error
  }
}

/** Names for these records. Undefined while they load. */
export const useAuditNames = (records: ReadonlyArray<AuditRecord>): AuditNames | undefined => {
  const { user } = useCurrentUser()
  const projects = useProjects()
  const targets = useTargets()
  const visible = new Set<string>(projects.map(({ id }) => id))
  const ids = new Set(
    records.flatMap(({ projectId, resource }) => [
      resource,
      ...(projectId === null || !visible.has(projectId) ? [] : [projectId])
    ])
  )
  const found = useQueries({
    queries: [...ids]
      .filter((id) => readers[id.slice(0, 4)] !== undefined && (!id.startsWith("prj_") || visible.has(id)))
      .map((id) => ({
        queryKey: ["audit", "name", id],
        queryFn: () => named(id),
        staleTime: Number.POSITIVE_INFINITY,
        retry: false
      }))
  })
  if (found.some(({ isPending }) => isPending)) return undefined
  const resources = new Map(found.flatMap(({ data }) => data ?? []))
  const places = new Map<string, string>([...projects, ...targets].map(({ id, name }) => [id, name]))
  const agents = new Map<string, string>(
    targets.flatMap((target) => target.agents.map(({ id, label }) => [id, label] as const))
  )
  return {
    userId: user.id,
    nameOf: (id) => (id === user.id ? user.name : (places.get(id) ?? resources.get(id)?.name)),
    agentOf: (id) => {
      const agentId = resources.get(id)?.agentId
      return agentId === undefined ? undefined : (agents.get(agentId) ?? agentId)
    },
    reasonOf: (id) => resources.get(id)?.reason
  }
}
