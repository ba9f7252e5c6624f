/**
 * Audit records as sentences, newest first. A record unfolds to its ids and raw fields.
 *
 * Guarantees: a resource is asked for once for its name. A resource that the reader can't see has no name, and causes no error.
 */
import { currentAgentId } from "@corral/domain/offer/Offer"
import { CorralError } from "@corral/client/http/CorralError"
import type { AuditRecord } from "@corral/domain/access/Audit"
import type { ApprovalId, ProjectId, RunId, SessionId, TaskId } from "@corral/domain/identity/Ids"
import { useQueries } from "@tanstack/react-query"
import { Link } from "@tanstack/react-router"
import { useCurrentUser } from "../api/CurrentUser.ts"
import { hubApi } from "../api/Hub.ts"
import { useProjects, useTargets } from "../api/ProjectsAndTargets.ts"
import { approvalMessages } from "../approval/messages.ts"
import { promptTitle } from "../runs/RunRows.tsx"
import { useLanguage, useMessages } from "../text/Language.tsx"
import { Icon } from "../ui/Icon.tsx"
import { Loading } from "../ui/Loading.tsx"
import { StateBadge } from "../ui/StateBadge.tsx"
import { Time } from "../ui/Time.tsx"
import { type AuditNames, auditSentence } from "./auditSentence.ts"
import { auditMessages } from "./messages.ts"
import "./audit.css"

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

/**
 * Names for the sentences of these records: projects, devices and members by list, the other resources one by one. Undefined while they load.
 */
const useAuditNames = (records: ReadonlyArray<AuditRecord>): AuditNames | undefined => {
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
      return agentId === undefined ? undefined : (agents.get(agentId) ?? agents.get(currentAgentId(agentId)) ?? agentId)
    },
    reasonOf: (id) => resources.get(id)?.reason
  }
}

const RecordDetails = ({ record }: { readonly record: AuditRecord }) => {
  const messages = useMessages(auditMessages)
  const approval = useMessages(approvalMessages)
  const { action, actor, code, details, projectId, requestId, resource, seq } = record
  const facts: ReadonlyArray<readonly [string, string | number | null]> = [
    [messages.action, action],
    [messages.code, code],
    [messages.actor, actor],
    [messages.resource, resource],
    [messages.projectId, projectId],
    [messages.request, requestId],
    [messages.seq, seq]
  ]
  return (
    <div className="audit-details">
      <dl className="facts">
        {facts.map(([name, value]) =>
          value === null ? null : (
            <div key={name}>
              <dt>{name}</dt>
              <dd>
                <code>{value}</code>
              </dd>
            </div>
          )
        )}
        {details !== undefined && (
          <div>
            <dt>{messages.decision}</dt>
            <dd>
              {messages.decisions[details.decision]}, {approval.remembered[details.scope]}
              {details.origin !== "policy" && `, ${approval.origins[details.origin]}`}
            </dd>
          </div>
        )}
      </dl>
      {details !== undefined && (
        <Link to="/approvals/$approvalId" params={{ approvalId: details.approvalId }}>
          {messages.toApproval}
        </Link>
      )}
    </div>
  )
}

const RecordRow = ({ names, record }: { readonly names: AuditNames; readonly record: AuditRecord }) => {
  const { language } = useLanguage()
  const { at, outcome } = record
  return (
    <li>
      <details className="audit-record">
        <summary className="audit-line">
          <Icon name="unfold" size={14} />
          <span className="audit-sentence">
            {auditSentence(record, names, language).map((part, index) =>
              typeof part === "string" ? (
                part
              ) : (
                <bdi key={index} className={part.isQuote ? "audit-quote" : undefined}>
                  {part.name}
                </bdi>
              )
            )}
          </span>
          <span className="audit-facts">
            {outcome !== "allowed" && <StateBadge state={outcome} />}
            <Time at={at} />
          </span>
        </summary>
        <RecordDetails record={record} />
      </details>
    </li>
  )
}

export const AuditList = ({ records }: { readonly records: ReadonlyArray<AuditRecord> }) => {
  const messages = useMessages(auditMessages)
  const names = useAuditNames(records)
  if (records.length === 0) return null
  if (names === undefined) return <Loading />
  return (
    <ul className="rows" aria-label={messages.caption}>
      {records.map((record) => (
        <RecordRow key={record.id} {...{ names, record }} />
      ))}
    </ul>
  )
}
