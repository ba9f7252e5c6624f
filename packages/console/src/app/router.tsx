/** Every address of the console, and the page that is there. Pages load when somebody goes there, or points at the way. */
import { createRootRoute, createRoute, createRouter, lazyRouteComponent } from "@tanstack/react-router"
import { ErrorPage } from "./ErrorPage.tsx"
import { NotFoundPage } from "./NotFoundPage.tsx"
import { PageLoading } from "./PageLoading.tsx"
import { pickSearchParams } from "../ui/searchParams.ts"
import { Shell } from "./Shell.tsx"

const ProjectPage = lazyRouteComponent(() => import("../project/ProjectPage.tsx"), "ProjectPage")
const SessionPage = lazyRouteComponent(() => import("../session/SessionPage.tsx"), "SessionPage")
const StartPage = lazyRouteComponent(() => import("../start/StartPage.tsx"), "StartPage")
const RunsPage = lazyRouteComponent(() => import("../runs/RunsPage.tsx"), "RunsPage")
const TaskPage = lazyRouteComponent(() => import("../task/TaskPage.tsx"), "TaskPage")
const AuditPage = lazyRouteComponent(() => import("../audit/AuditPage.tsx"), "AuditPage")
const RunPage = lazyRouteComponent(() => import("../run/RunPage.tsx"), "RunPage")
const ApprovalsPage = lazyRouteComponent(() => import("../approval/ApprovalsPage.tsx"), "ApprovalsPage")

const root = createRootRoute({ component: Shell, notFoundComponent: NotFoundPage })
const parent = { getParentRoute: () => root }

const home = createRoute({
  ...parent,
  path: "/",
  component: lazyRouteComponent(() => import("../home/HomePage.tsx"), "HomePage")
})

const projects = createRoute({
  ...parent,
  path: "/projects",
  component: lazyRouteComponent(() => import("../project/ProjectsPage.tsx"), "ProjectsPage")
})

const project = createRoute({
  ...parent,
  path: "/projects/$projectId",
  validateSearch: pickSearchParams("tab"),
  component: () => {
    const { projectId } = project.useParams()
    return <ProjectPage key={projectId} projectId={projectId} tab={project.useSearch().tab} />
  }
})

const session = createRoute({
  ...parent,
  path: "/sessions/$sessionId",
  component: () => {
    const { sessionId } = session.useParams()
    return <SessionPage key={sessionId} sessionId={sessionId} />
  }
})

const start = createRoute({
  ...parent,
  path: "/start",
  validateSearch: pickSearchParams("projectId", "sessionId", "targetId", "workspace", "agentId"),
  component: () => <StartPage asked={start.useSearch()} />
})

const runs = createRoute({
  ...parent,
  path: "/runs",
  validateSearch: pickSearchParams("projectId", "targetId", "state"),
  component: () => <RunsPage filter={runs.useSearch()} />
})

const run = createRoute({
  ...parent,
  path: "/runs/$runId",
  component: () => {
    const { runId } = run.useParams()
    // Another run is another page, with nothing of the first one's state.
    return <RunPage key={runId} runId={runId} />
  }
})

const approvals = createRoute({ ...parent, path: "/approvals", component: () => <ApprovalsPage /> })

const approval = createRoute({
  ...parent,
  path: "/approvals/$approvalId",
  component: () => <ApprovalsPage approvalId={approval.useParams().approvalId} />
})

const task = createRoute({
  ...parent,
  path: "/tasks/$taskId",
  component: () => {
    const { taskId } = task.useParams()
    return <TaskPage key={taskId} taskId={taskId} />
  }
})

const devices = createRoute({
  ...parent,
  path: "/devices",
  component: lazyRouteComponent(() => import("../device/DevicesPage.tsx"), "DevicesPage")
})

const audit = createRoute({
  ...parent,
  path: "/audit",
  validateSearch: pickSearchParams("projectId", "actor", "action", "from", "to"),
  component: () => <AuditPage filter={audit.useSearch()} />
})

const account = createRoute({
  ...parent,
  path: "/account",
  component: lazyRouteComponent(() => import("../account/AccountPage.tsx"), "AccountPage")
})

export const router = createRouter({
  routeTree: root.addChildren([
    home,
    projects,
    project,
    session,
    start,
    runs,
    run,
    approvals,
    approval,
    task,
    devices,
    audit,
    account
  ]),
  defaultPreload: "intent",
  defaultErrorComponent: ErrorPage,
  defaultPendingComponent: PageLoading,
  scrollRestoration: true
})

declare module "@tanstack/react-router" {
  interface Register {
    router: typeof router
  }
}
