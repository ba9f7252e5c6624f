/**
 * Browser notifications of approvals, questions, changes to decide, ended runs and used limits while every tab of the console is hidden: one for each, in one tab, which Web
 * Locks choose. A click opens the session; a decision elsewhere closes the notification. Only the users that a change concerns see one. The user's
 * preference and the permission of the browser decide whether there are any.
 */
import type { ChangeHint } from "@corral/domain/hub-api/ChangeHint"
import type { HubRun } from "@corral/domain/hub-api/HubRun"
import type { ProjectId, RunId, UserId } from "@corral/domain/identity/Ids"
import { isQuiet } from "@corral/domain/preference/ClockOfZone"
import type { Preferences } from "@corral/domain/preference/Preferences"
import { messageOfPrompt } from "@corral/domain/session/TranscribedPrompt"
import { type QueryClient, useQueryClient } from "@tanstack/react-query"
import { useNavigate } from "@tanstack/react-router"
import { useEffect, useRef, useState } from "react"
import { accountStorage } from "../api/AccountStorage.ts"
import { useCurrentUser } from "../api/CurrentUser.ts"
import { hubApi } from "../api/Hub.ts"
import { isAtLeast, projectsQuery } from "../api/ProjectsAndTargets.ts"
import { sessionQuery } from "../api/Sessions.ts"
import { visibleLine } from "../markdown/visible.ts"
import { preferencesQuery, useChangePreferences, usePreferences } from "../preference/StoredPreferences.ts"
import { useMessages } from "../text/Language.tsx"
import { notificationMessages } from "./messages.ts"

/** `blocked`: the browser refuses, and only its own settings can change that. */
type NotificationState = "unsupported" | "blocked" | "off" | "on"

const notificationState = (preferences: Preferences | undefined): NotificationState => {
  if (!("Notification" in globalThis)) return "unsupported"
  if (Notification.permission === "denied") return "blocked"
  return preferences?.notifications?.browser === true && Notification.permission === "granted" ? "on" : "off"
}

/**
 * Whether this browser shows notifications: a preference of the user, and the permission of the browser, for which it asks. A button turns them on
 * and off.
 */
interface NotificationSetting {
  readonly state: NotificationState
  /** Asks for the permission where it is needed. */
  readonly enable: () => Promise<void>
  readonly disable: () => void
}

export const useNotificationSetting = (): NotificationSetting => {
  const preferences = usePreferences()
  const change = useChangePreferences()
  const store = (browser: boolean) => change(() => ({ notifications: { browser } }))
  // The permission is read again after the browser has asked.
  const [, setAnswers] = useState(0)
  return {
    state: notificationState(preferences),
    enable: async () => {
      const permission = await Notification.requestPermission()
      if (permission === "granted") store(true)
      setAnswers((n) => n + 1)
    },
    disable: () => store(false)
  }
}

/** Button that turns notifications on and off. The browser asks for its permission only then. */
export const NotificationToggle = () => {
  const messages = useMessages(notificationMessages)
  const { disable, enable, state } = useNotificationSetting()
  return (
    <>
      <p className="quiet" role="status">
        {messages.states[state]}
      </p>
      {(state === "on" || state === "off") && (
        <div className="part-actions">
          <button type="button" className="button" onClick={state === "on" ? disable : () => void enable()}>
            {state === "on" ? messages.disable : messages.enable}
          </button>
        </div>
      )}
    </>
  )
}

/** A change that can notify: an approval, a question or changes that wait, a run that has ended by itself, or a limit that is nearly or completely used up. */
type NotifiableChange =
  | Extract<ChangeHint, { kind: "limit" }>
  | (Extract<ChangeHint, { kind: "approval" }> & { readonly state: "pending" })
  | (Extract<ChangeHint, { kind: "input" }> & { readonly state: "pending" })
  | (Extract<ChangeHint, { kind: "changes" }> & { readonly state: "open" })
  | (Extract<ChangeHint, { kind: "run" }> & { readonly state: "completed" | "failed" })

export const isNotifiable = (hint: ChangeHint): hint is NotifiableChange =>
  hint.kind === "limit" ||
  ((hint.kind === "approval" || hint.kind === "input") && hint.state === "pending") ||
  (hint.kind === "changes" && hint.state === "open") ||
  (hint.kind === "run" && (hint.state === "completed" || hint.state === "failed"))

/** Whether nothing waits for a decision any longer. */
const isOver = (hint: ChangeHint): boolean =>
  ((hint.kind === "approval" || hint.kind === "input") && hint.state !== "pending") ||
  (hint.kind === "changes" && hint.state !== "open")

const notificationKeyOfRun = (id: RunId): string => `run ${id}`

/** Identifies the item in all tabs of the browser. Each run that leaves changes is one more item of their set; a limit is another one each day, and when it is used up. */
export const notificationKey = (hint: ChangeHint): string =>
  hint.kind === "changes"
    ? `changes ${hint.id} ${hint.runId}`
    : hint.kind === "limit"
      ? `limit ${hint.id} ${hint.day} ${hint.state}`
      : `${hint.kind} ${hint.id}`

export interface NotificationContext {
  readonly isOn: boolean
  readonly isHidden: boolean
  /** Whether another tab of the console is visible: its reader sees the change there. */
  readonly isVisibleElsewhere: boolean
  /** When the page was opened, in milliseconds since 1970. What waited before is not new. */
  readonly openedAt: number
}

/** `at` is when the approval was requested or the run ended, in ISO 8601. */
export const isNews = (at: string, context: NotificationContext): boolean =>
  context.isOn && context.isHidden && !context.isVisibleElsewhere && Date.parse(at) >= context.openedAt

/** Keys of all tabs that are remembered. */
const MAX_CLAIMS = 200

/** Text of the claims with the key, or undefined if another tab has claimed it. A damaged text has no claims. */
export const withClaim = (text: string | null, key: string): string | undefined => {
  const claims = (text ?? "").split("\n").filter((each) => each !== "")
  return claims.includes(key) ? undefined : [...claims, key].slice(-MAX_CLAIMS).join("\n")
}

const VISIBLE = "corral.visible"
const CLAIMS = "corral.notified"

/** Holds a shared lock while this tab is visible. */
const useVisibleTab = (): void => {
  useEffect(() => {
    let release: (() => void) | undefined
    const follow = () => {
      if (document.hidden) {
        release?.()
        release = undefined
      } else if (release === undefined) {
        const held = new Promise<void>((resolve) => (release = resolve))
        void navigator.locks?.request(VISIBLE, { mode: "shared" }, () => held)
      }
    }
    follow()
    document.addEventListener("visibilitychange", follow)
    return () => {
      document.removeEventListener("visibilitychange", follow)
      release?.()
    }
  }, [])
}

const isAnyTabVisible = async (): Promise<boolean> => {
  const { held = [] } = (await navigator.locks?.query()) ?? {}
  return held.some(({ name }) => name === VISIBLE)
}

/** Whether this tab is the first to claim the key. */
const claimNotification = async (key: string): Promise<boolean> => {
  const claim = (): boolean => {
    const claims = withClaim(accountStorage.getItem(CLAIMS), key)
    if (claims !== undefined) accountStorage.setItem(CLAIMS, claims)
    return claims !== undefined
  }
  // Insecure pages have no locks, and no notifications either.
  return navigator.locks === undefined ? claim() : navigator.locks.request(CLAIMS, claim)
}

interface NotificationContent {
  readonly kind: "approval" | "input" | "changes" | "completed" | "failed" | "near" | "reached"
  /** What waits, the session or prompt of the run, or the project of the limit. */
  readonly title: string
  readonly text: string
  /** Of changes. */
  readonly fileCount?: number
  /** When it was requested or ended, in ISO 8601. */
  readonly at: string
  /** The run that it is about. Absent: the limits of the project. */
  readonly run?: Pick<HubRun, "id" | "sessionId">
  readonly projectId?: ProjectId
}

const runOf = (id: RunId): Promise<HubRun> => hubApi.runs.get({ params: { id } })

/** Whether the reader may decide in a project. */
const mayDecideIn = async (client: QueryClient, projectId: ProjectId): Promise<boolean> => {
  const projects = await client.fetchQuery(projectsQuery)
  const project = projects.items.find((each) => each.id === projectId)
  return project === undefined || isAtLeast(project.role, project.approvals.approvers)
}

/** Approvals concern those who can decide them. */
const approvalContent = async (
  client: QueryClient,
  { id, projectId }: Extract<NotifiableChange, { kind: "approval" }>
): Promise<NotificationContent | undefined> => {
  if (!(await mayDecideIn(client, projectId))) return undefined
  const { agentId, request, requestedAt, runId, workspace } = await hubApi.approvals.get({ params: { id } })
  const run = await runOf(runId)
  return { kind: "approval", title: request.title, text: `${agentId} · ${workspace}`, at: requestedAt, run }
}

/** Questions concern those who can write in the session, plans those who can decide approvals. */
const inputContent = async (
  client: QueryClient,
  { id, projectId }: Extract<NotifiableChange, { kind: "input" }>
): Promise<NotificationContent | undefined> => {
  const projects = await client.fetchQuery(projectsQuery)
  const project = projects.items.find((each) => each.id === projectId)
  const { agentId, kind, requestedAt, runId, title, workspace } = await hubApi.inputs.get({ params: { id } })
  const least = kind === "plan" ? project?.approvals.approvers : "member"
  if (project !== undefined && least !== undefined && !isAtLeast(project.role, least)) return undefined
  const run = await runOf(runId)
  return { kind: "input", title, text: `${agentId} · ${workspace}`, at: requestedAt, run }
}

/** An ended run concerns the user who created its session or its task. */
const runContent = async (
  client: QueryClient,
  { id, state }: Extract<NotifiableChange, { kind: "run" }>,
  reader: UserId
): Promise<NotificationContent | undefined> => {
  const run = await runOf(id)
  const { endedAt, error, input, replaced, resultText, sessionId, taskId, updatedAt } = run
  if (replaced === true) return undefined
  const session = sessionId === undefined ? undefined : await client.fetchQuery(sessionQuery(sessionId))
  const task =
    session !== undefined || taskId === undefined
      ? undefined
      : await hubApi.tasks.get({ params: { id: taskId } })
  if ((session ?? task)?.createdBy !== reader) return undefined
  return {
    kind: state,
    title: session?.title ?? messageOfPrompt(input.text),
    text: error?.message ?? resultText ?? "",
    at: endedAt ?? updatedAt,
    run
  }
}

/** Changes concern those who can decide about them. */
const changesContent = async (
  client: QueryClient,
  { projectId, runId }: Extract<NotifiableChange, { kind: "changes" }>
): Promise<NotificationContent | undefined> => {
  if (!(await mayDecideIn(client, projectId))) return undefined
  const run = await runOf(runId)
  const { agentId, changes, endedAt, input, sessionId, updatedAt, workspace } = run
  if (changes?.state !== "open") return undefined
  const session = sessionId === undefined ? undefined : await client.fetchQuery(sessionQuery(sessionId))
  return {
    kind: "changes",
    title: session?.title ?? messageOfPrompt(input.text),
    text: `${agentId} · ${workspace}`,
    at: endedAt ?? updatedAt,
    fileCount: changes.fileCount,
    run
  }
}

type LimitTexts = (typeof notificationMessages)["en"]["limits"]

/** The Hub sends the hint of a person's limit to that person and to admins. */
const limitContent = async (
  client: QueryClient,
  { projectId, state, userId }: Extract<NotifiableChange, { kind: "limit" }>,
  { reader, texts }: { readonly reader: UserId; readonly texts: LimitTexts }
): Promise<NotificationContent | undefined> => {
  const projects = await client.fetchQuery(projectsQuery)
  const project = projects.items.find((each) => each.id === projectId)
  const { today } = await hubApi.usage.limits({ params: { id: projectId } })
  const name = today.find(({ subject }) => subject === userId)?.name ?? ""
  const text =
    userId === undefined ? texts.everyone : userId === reader ? texts.own : texts.of(visibleLine(name, 60))
  // The hint comes when it happens, and has no time.
  return { kind: state, title: project?.name ?? "", text, at: new Date().toISOString(), projectId }
}

/** Content of a notification: read from the Hub, and only for those whom the change concerns. */
const notificationOf = (
  client: QueryClient,
  change: NotifiableChange,
  reader: UserId,
  texts: LimitTexts
): Promise<NotificationContent | undefined> => {
  switch (change.kind) {
    case "approval":
      return approvalContent(client, change)
    case "input":
      return inputContent(client, change)
    case "changes":
      return changesContent(client, change)
    case "limit":
      return limitContent(client, change, { reader, texts })
    case "run":
      return runContent(client, change, reader)
  }
}

const openedAt = Date.now()

/** Shown notifications of this tab, and the changes that it has noticed. */
interface Noticed {
  readonly keys: Set<string>
  readonly shown: Map<string, Notification>
}

/** Shows notifications. Takes the changes of the feed. */
export const useNotifications = (): ((hints: ReadonlyArray<ChangeHint>) => void) => {
  const messages = useMessages(notificationMessages)
  const client = useQueryClient()
  const navigate = useNavigate()
  const { user } = useCurrentUser()
  const noticed = useRef<Noticed>({ keys: new Set(), shown: new Map() })
  useVisibleTab()

  const isOn = (): boolean => {
    const preferences = client.getQueryData(preferencesQuery.queryKey)
    const isQuietNow = preferences?.quietHours !== undefined && isQuiet(preferences.quietHours, Date.now())
    return notificationState(preferences) === "on" && !isQuietNow
  }
  const open = ({ kind, projectId, run }: NotificationContent): void => {
    globalThis.focus()
    const panel = kind === "changes" ? { panel: "changes" } : {}
    if (run === undefined)
      void navigate({ to: "/usage", search: projectId === undefined ? {} : { projectId } })
    else if (run.sessionId === undefined)
      void navigate({ to: "/runs/$runId", params: { runId: run.id }, search: panel })
    else
      void navigate({
        to: "/sessions/$sessionId",
        params: { sessionId: run.sessionId },
        search: kind === "changes" ? { ...panel, run: run.id } : {}
      })
  }
  const show = (key: string, content: NotificationContent): void => {
    const { fileCount, kind, run, text, title } = content
    const body = fileCount === undefined ? text : `${messages.filesToDecide(fileCount)} · ${text}`
    const notification = new Notification(messages.titles[kind](visibleLine(title, 100)), {
      body: visibleLine(body, 200),
      icon: "/icon.svg",
      // Changes replace the news that their run has ended.
      tag: kind === "changes" && run !== undefined ? notificationKeyOfRun(run.id) : key
    })
    notification.addEventListener("click", () => {
      notification.close()
      open(content)
    })
    noticed.current.shown.set(key, notification)
  }
  const consider = async (change: NotifiableChange): Promise<void> => {
    const key = notificationKey(change)
    // Who looked when the change came has seen it, also if its content comes later.
    const wasVisible = await isAnyTabVisible()
    const content = wasVisible ? undefined : await notificationOf(client, change, user.id, messages.limits)
    if (content === undefined) return
    const isVisibleElsewhere = await isAnyTabVisible()
    const context = { isOn: isOn(), isHidden: document.hidden, isVisibleElsewhere, openedAt }
    if (isNews(content.at, context) && (await claimNotification(key))) show(key, content)
  }
  return (hints) => {
    const { keys, shown } = noticed.current
    for (const hint of hints) {
      const key = notificationKey(hint)
      if (isOver(hint)) shown.get(key)?.close()
      if (!isNotifiable(hint) || keys.has(key)) continue
      keys.add(key)
      // Without its content, such as after a lost connection, a change stays in the lists of the console.
      if (isOn() && document.hidden) void consider(hint).catch(() => undefined)
    }
  }
}
