/** Sessions, runs, projects and devices that the console has loaded, as items of the palette. */
import type { HubRun } from "@corral/domain/hub-api/HubRun"
import type { Target } from "@corral/domain/device/Device"
import type { SessionItem } from "@corral/domain/session/Session"
import { useNavigate } from "@tanstack/react-router"
import { useLatestRuns } from "../api/LatestRuns.ts"
import { useProjects, useTargets } from "../api/ProjectsAndTargets.ts"
import { useSessions } from "../api/Sessions.ts"
import { visibleLine } from "../markdown/visible.ts"
import { promptTitle } from "../runs/RunRows.tsx"
import { useSessionStatuses } from "../status/useSessionStatuses.ts"
import { useMessages } from "../text/Language.tsx"
import { uiMessages } from "../ui/messages.ts"
import type { PaletteItem } from "./PaletteItem.ts"

export interface Places {
  readonly sessions: ReadonlyArray<PaletteItem>
  readonly runs: ReadonlyArray<PaletteItem>
  readonly projects: ReadonlyArray<PaletteItem>
  readonly devices: ReadonlyArray<PaletteItem>
}

export const usePlaces = (): Places => {
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
