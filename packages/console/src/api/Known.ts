/**
 * What many pages need to know: the person's projects, their targets, and what things are called. The first two hundred of each: enough to
 * choose from; the pages of lists go on by cursor.
 */
import type { DeviceId, ProjectId } from "@corral/domain/identity/Ids"
import type { ProjectRole } from "@corral/domain/project/Project"
import { queryOptions, useQuery } from "@tanstack/react-query"
import { hubApi } from "./Hub.ts"

const MOST = 200

export const projectsQuery = queryOptions({
  queryKey: ["projects", "known"],
  queryFn: ({ signal }) => hubApi.projects.list({ query: { limit: MOST }, signal })
})

/** Devices to which runs may go; of a project those that are shared with it. */
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

/** Its name; undefined while it is not known. */
export const useProjectName = (id: ProjectId | undefined): string | undefined => useProject(id)?.name

export const useTargets = (projectId?: ProjectId) => useQuery(targetsQuery(projectId)).data?.items ?? []

export const useTargetName = (id: DeviceId | undefined): string | undefined =>
  useTargets().find((target) => target.id === id)?.name

/** Whether the person may do work in the project. What is not known is left to the Hub, which decides. */
export const useMayWork = (id: ProjectId | undefined): boolean => {
  const role = useProject(id)?.role
  return role === undefined || isAtLeast(role, "member")
}

/** Whether the person's role decides the project's approvals, as far as is known. */
export const useMayDecide = (id: ProjectId | undefined): boolean => {
  const project = useProject(id)
  return project === undefined || isAtLeast(project.role, project.approvals.approvers)
}

/** Weakest first. */
export const roles: ReadonlyArray<ProjectRole> = ["viewer", "member", "admin", "owner"]

/** Whether a role is that one or stronger. The Hub decides; this only spares people refusals. */
export const isAtLeast = (role: ProjectRole, wanted: ProjectRole): boolean =>
  roles.indexOf(role) >= roles.indexOf(wanted)
