/**
 * Content of the palette for a query, with the state of the search: changes that wait, sessions, runs, projects and devices that the console has loaded, what the
 * Hub finds, and commands by their names in both languages.
 */
import type { Target } from "@corral/domain/device/Device"
import type { HubRun } from "@corral/domain/hub-api/HubRun"
import type { SearchResult } from "@corral/domain/search/SearchResult"
import type { SessionItem } from "@corral/domain/session/Session"
import { useNavigate } from "@tanstack/react-router"
import { hubApi } from "../api/Hub.ts"
import { useLatestRuns } from "../api/RunsAndGroups.ts"
import { usePending } from "../api/Pending.ts"
import { useProjects, useTargets } from "../api/ProjectsAndTargets.ts"
import { useSessions } from "../api/Sessions.ts"
import { useSignOut } from "../api/CurrentUser.ts"
import { type TypedSearch, useTypedSearch } from "../api/useTypedSearch.ts"
import { shortcuts } from "../keys/Shortcut.ts"
import { visibleLine } from "../markdown/visible.ts"
import { useNotificationSetting } from "../notification/Notifications.tsx"
import { useSelectLanguage, useTheme } from "../preference/StoredPreferences.ts"
import { promptTitle } from "../runs/RunRows.tsx"
import { useSessionStatuses } from "../status/SessionStatus.tsx"
import { useLanguage, useMessages } from "../text/Language.tsx"
import type { IconName } from "../ui/Icon.tsx"
import { themes } from "../ui/Theme.ts"
import { uiMessages } from "../ui/messages.ts"
import { type PaletteItem, type PaletteSection, paletteSections, queryWords } from "./paletteSections.ts"
import { paletteMessages } from "./messages.ts"

type Command = keyof (typeof paletteMessages)["en"]["commands"]

const places = [
  ["home", "home", "/"],
  ["board", "board", "/board"],
  ["runs", "runs", "/runs"],
  ["approvals", "approvals", "/approvals"],
  ["devices", "devices", "/devices"],
  ["projects", "projects", "/projects"],
  ["usage", "usage", "/usage"],
  ["audit", "audit", "/audit"],
  ["account", "account", "/account"]
] as const satisfies ReadonlyArray<readonly [Command, IconName, string]>

const otherWords = (command: Command): string =>
  `${paletteMessages.en.commands[command]} ${paletteMessages.zh.commands[command]}`

/** Commands of the palette: places, theme, language, notifications, keys and sign-out. Each is found by its name in both languages. */
const useCommands = (onKeys: () => void): ReadonlyArray<PaletteItem> => {
  const { commands: names } = useMessages(paletteMessages)
  const navigate = useNavigate()
  const [theme, choose] = useTheme()
  const { language } = useLanguage()
  const selectLanguage = useSelectLanguage()
  const notifications = useNotificationSetting()
  const signOut = useSignOut()
  const command = (name: Command, icon: IconName, run: () => void, shortcut?: string): PaletteItem => ({
    key: name,
    icon,
    title: names[name],
    words: otherWords(name),
    run,
    ...(shortcut === undefined ? {} : { shortcut })
  })
  const setting = (name: Command, icon: IconName, run: () => void): PaletteItem => ({
    ...command(name, icon, run),
    stays: true
  })
  return [
    command("newSession", "plus", () => void navigate({ to: "/start" }), shortcuts.newSession),
    ...places.map(([name, icon, to]) => command(name, icon, () => void navigate({ to }))),
    ...themes
      .filter((each) => each !== theme)
      .map((each) => setting(`${each}Theme`, "settings", () => choose(each))),
    language === "en"
      ? setting("chinese", "network", () => selectLanguage("zh"))
      : setting("english", "network", () => selectLanguage("en")),
    ...(notifications.state === "unsupported" || notifications.state === "blocked"
      ? []
      : [
          notifications.state === "on"
            ? setting("notificationsOff", "bell", notifications.disable)
            : setting("notificationsOn", "bell", () => void notifications.enable())
        ]),
    command("keys", "command", onKeys, shortcuts.keys),
    command("signOut", "account", signOut)
  ]
}

interface Places {
  readonly sessions: ReadonlyArray<PaletteItem>
  readonly runs: ReadonlyArray<PaletteItem>
  readonly projects: ReadonlyArray<PaletteItem>
  readonly devices: ReadonlyArray<PaletteItem>
}

/** Change sets that wait for the user, each with the title of its session or run. Found by the names of what they are, too. */
const useWaitingChanges = ({
  runs,
  sessions
}: Pick<Places, "runs" | "sessions">): ReadonlyArray<PaletteItem> => {
  const navigate = useNavigate()
  const messages = useMessages(paletteMessages)
  const { changes } = usePending()
  return changes.map(({ agentId, fileCount, id, runId, sessionId, workspace }) => ({
    key: id,
    icon: "changes",
    title:
      sessions.find(({ key }) => key === sessionId)?.title ??
      runs.find(({ key }) => key === runId)?.title ??
      messages.changesOf(workspace),
    detail: messages.filesToDecide(fileCount),
    words: `${paletteMessages.en.kinds.changes} ${paletteMessages.zh.kinds.changes} ${workspace} ${agentId}`,
    run: () =>
      void (sessionId === undefined
        ? navigate({ to: "/runs/$runId", params: { runId }, search: { panel: "changes" } })
        : navigate({
            to: "/sessions/$sessionId",
            params: { sessionId },
            search: { panel: "changes", run: runId }
          }))
  }))
}

/** Sessions, runs, projects and devices that the console has loaded, as items of the palette. */
const usePlaces = (): Places => {
  const navigate = useNavigate()
  const projects = useProjects()
  const targets = useTargets()
  const { items } = useSessions({ state: "active" })
  const runs = useLatestRuns()
  const statuses = useSessionStatuses()
  const { states } = useMessages(uiMessages)
  const projectName = (id: string) => projects.find((project) => project.id === id)?.name

  const sessionItem = ({ id, projectId, title, updatedAt }: SessionItem): PaletteItem => ({
    key: id,
    icon: "message",
    title: visibleLine(title),
    detail: projectName(projectId),
    at: updatedAt,
    status: statuses.get(id) ?? "idle",
    run: () => void navigate({ to: "/sessions/$sessionId", params: { sessionId: id } })
  })
  const runItem = ({ createdAt, id, input, projectId, state }: HubRun): PaletteItem => ({
    key: id,
    icon: "runs",
    title: visibleLine(promptTitle(input.text)),
    detail: [states[state], projectName(projectId)].filter((part) => part !== undefined).join(" · "),
    at: createdAt,
    run: () => void navigate({ to: "/runs/$runId", params: { runId: id } })
  })
  const deviceItem = ({ id, name, state }: Target): PaletteItem => ({
    key: id,
    icon: "devices",
    title: visibleLine(name),
    detail: states[state],
    run: () => void navigate({ to: "/devices" })
  })
  return {
    sessions: items.map(sessionItem),
    // A run of a session is found by its session.
    runs: runs.filter(({ sessionId }) => sessionId === undefined).map(runItem),
    projects: projects.map(({ id, name }) => ({
      key: id,
      icon: "projects" as const,
      title: visibleLine(name),
      run: () => void navigate({ to: "/projects/$projectId", params: { projectId: id } })
    })),
    devices: targets.map(deviceItem)
  }
}

const MOST = 30
const MAX_CHARACTERS = 200

/** Search of the Hub for the query of the palette. */
const useHubSearch = (query: string): TypedSearch<SearchResult> => {
  // The words that the Hub accepts.
  const words = queryWords(query).join(" ").slice(0, MAX_CHARACTERS).trim()
  return useTypedSearch(["search"], words === "" ? undefined : words, (q, signal) =>
    hubApi.search.find({ query: { q, limit: MOST }, signal })
  )
}

const icons: { readonly [K in SearchResult["kind"]]: IconName } = {
  title: "message",
  message: "message",
  prompt: "message",
  result: "agent",
  files: "file"
}

/** Search parameters of the session's page that lead to the result. */
const placeOf = (
  kind: SearchResult["kind"],
  runId: SearchResult["runId"],
  messageId: SearchResult["messageId"]
): { readonly run?: string; readonly at?: string } => {
  if (kind === "files") return runId === undefined ? {} : { run: runId }
  const at = messageId ?? runId
  return at === undefined ? {} : { at }
}

export interface PaletteView {
  readonly sections: ReadonlyArray<PaletteSection>
  readonly search: TypedSearch<SearchResult>
}

export const usePaletteSections = (query: string, onKeys: () => void): PaletteView => {
  const navigate = useNavigate()
  const places = usePlaces()
  const commands = useCommands(onKeys)
  const changes = useWaitingChanges(places)
  const search = useHubSearch(query)
  /** Texts open in view, changed files with the changes of their run. */
  const open = ({ kind, messageId, runId, sessionId }: SearchResult) => {
    const search = kind === "files" ? { panel: "changes" } : {}
    if (sessionId === undefined)
      return runId === undefined ? undefined : navigate({ to: "/runs/$runId", params: { runId }, search })
    return navigate({
      to: "/sessions/$sessionId",
      params: { sessionId },
      search: { ...search, ...placeOf(kind, runId, messageId) }
    })
  }
  const itemOf = (result: SearchResult): PaletteItem => {
    const { at, excerpt, kind, messageId, runId, sessionId } = result
    const session = places.sessions.find(({ key }) => key === sessionId)
    return {
      key: kind === "title" ? String(sessionId) : `${kind} ${messageId ?? runId ?? sessionId}`,
      icon: icons[kind],
      // Marks of Markdown are not what was searched for.
      title: visibleLine(excerpt.replaceAll("`", "").replaceAll("**", ""), 240),
      detail: kind === "title" ? undefined : session?.title,
      at,
      run: () => void open(result)
    }
  }
  const content = { local: { ...places, changes, commands }, results: search.items, itemOf }
  return { sections: paletteSections(query, content), search }
}
