/**
 * Projects and targets of the user, shared by many pages, with their names, their members' names, and single devices.
 *
 * Contains the first 200 of each, for selection. Pages with full lists read by cursor.
 */
import type { Target } from "@corral/domain/device/Device"
import type { DeviceId, ProjectId } from "@corral/domain/identity/Ids"
import { findAgent } from "@corral/domain/offer/Offer"
import type { Project, ProjectMember, ProjectRole } from "@corral/domain/project/Project"
import type { Agent } from "@corral/domain/run/Agent"
import { queryOptions, useQuery } from "@tanstack/react-query"
import { useMemo } from "react"
import { hubApi } from "./Hub.ts"

const MOST = 200

export const projectsQuery = queryOptions({
  queryKey: ["projects", "known"],
  queryFn: ({ signal }) => hubApi.projects.list({ query: { limit: MOST }, signal })
})

/** Devices that can run tasks. With a project, only devices shared with it. */
export const targetsQuery = (projectId?: ProjectId) =>
  queryOptions({
    queryKey: ["devices", "targets", projectId ?? ""],
    queryFn: ({ signal }) =>
      hubApi.devices.targets({
        query: { limit: MOST, ...(projectId === undefined ? {} : { projectId }) },
        signal
      })
  })

export const projectQuery = (id: ProjectId) =>
  queryOptions({
    queryKey: ["projects", "one", id],
    queryFn: ({ signal }) => hubApi.projects.get({ params: { id }, signal })
  })

export const useProjects = () => useQuery(projectsQuery).data?.items ?? []

const useProject = (id: ProjectId | undefined) => useProjects().find((project) => project.id === id)

/** Name of a project. Undefined while it is unknown. */
export const useProjectName = (id: ProjectId | undefined): string | undefined => useProject(id)?.name

export const useTargets = (projectId?: ProjectId) => useQuery(targetsQuery(projectId)).data?.items ?? []

export const useTargetName = (id: DeviceId | undefined): string | undefined =>
  useTargets().find((target) => target.id === id)?.name

const noTargets: ReadonlyArray<Target> = []

/** Targets that are offline. The same set while the targets are the same. */
export const useOfflineTargets = (): ReadonlySet<DeviceId> => {
  const targets = useQuery(targetsQuery()).data?.items ?? noTargets
  return useMemo(
    () => new Set(targets.filter(({ state }) => state === "offline").map(({ id }) => id)),
    [targets]
  )
}

/** Name of an agent on a target; its id while it is unknown. */
export const useAgentName = (targetId: DeviceId | undefined, agentId: Agent["id"]): string =>
  findAgent(useTargets().find(({ id }) => id === targetId)?.agents, agentId)?.label ?? agentId

/** What the user's role allows in a project. True for an unknown project: the Hub decides. */
export interface Rights {
  /** Start work, and answer questions. */
  readonly mayWork: (id: ProjectId | undefined) => boolean
  /** Decide approvals and plans. */
  readonly mayDecide: (id: ProjectId | undefined) => boolean
}

export const useRights = (): Rights => {
  const projects = useQuery(projectsQuery).data?.items
  return useMemo(() => {
    const projectById = new Map<ProjectId | undefined, Project>(
      projects?.map((project) => [project.id, project])
    )
    const may = (project: Project | undefined, least: ProjectRole | undefined): boolean =>
      project === undefined || least === undefined || isAtLeast(project.role, least)
    return {
      mayWork: (id) => may(projectById.get(id), "member"),
      mayDecide: (id) => may(projectById.get(id), projectById.get(id)?.approvals.approvers)
    }
  }, [projects])
}

/** Whether the user can start work in the project. */
export const useCanWork = (id: ProjectId | undefined): boolean => useRights().mayWork(id)

/** Whether the user's role can decide approvals of the project. */
export const useCanDecide = (id: ProjectId | undefined): boolean => useRights().mayDecide(id)

/** Weakest first. */
export const projectRoles: ReadonlyArray<ProjectRole> = ["viewer", "member", "admin", "owner"]

/** Whether a role has at least the rights of another. Only hides unavailable actions: the Hub decides. */
export const isAtLeast = (role: ProjectRole, wanted: ProjectRole): boolean =>
  projectRoles.indexOf(role) >= projectRoles.indexOf(wanted)

/** One device, as notes about it and approvals on it read it. Undefined while it is unknown. */
export const useDevice = (id: DeviceId | undefined) =>
  useQuery({
    queryKey: ["devices", "one", id],
    queryFn: ({ signal }) => hubApi.devices.get({ params: { id: id ?? ("" as DeviceId) }, signal }),
    enabled: id !== undefined
  }).data

/** The first 200 members of a project, for names and for selection. */
const membersQuery = (projectId: ProjectId | undefined) =>
  queryOptions({
    queryKey: ["projects", projectId, "members", "names"],
    queryFn: ({ signal }) =>
      hubApi.projects.members({
        params: { id: projectId ?? ("" as ProjectId) },
        query: { limit: MOST },
        signal
      }),
    staleTime: 300_000
  })

const noMembers: ReadonlyArray<ProjectMember> = []

/** Members of a project, for selection. Empty while they load. */
export const useMembers = (projectId: ProjectId): ReadonlyArray<ProjectMember> =>
  useQuery(membersQuery(projectId)).data?.items ?? noMembers

/** Name of a member of a project, read with those of the others: `undefined` without a user, until the names are read, and for users who are not members. */
export const useMemberName = (
  projectId: ProjectId | undefined,
  userId: string | undefined
): string | undefined => {
  const enabled = projectId !== undefined && userId !== undefined
  const { data } = useQuery({ ...membersQuery(projectId), enabled })
  return data?.items.find((member) => member.userId === userId)?.name
}
