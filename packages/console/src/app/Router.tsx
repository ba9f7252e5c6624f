/**
 * Routes of the console: one record per page, and the pages for an unknown address and for a page that failed to render. Page code loads on
 * demand.
 */
import { CorralError } from "@corral/client/http/CorralError"
import {
  type ErrorComponentProps,
  Link,
  createRootRoute,
  createRoute,
  createRouter,
  lazyRouteComponent,
  useParams,
  useSearch
} from "@tanstack/react-router"
import { useMessages } from "../text/Language.tsx"
import { Loading } from "../ui/Loading.tsx"
import { PageFrame } from "../ui/PageFrame.tsx"
import { RefusalNote } from "../ui/RefusalNote.tsx"
import { pickSearchParams } from "../ui/searchParams.ts"
import { Shell } from "./Shell.tsx"
import { appMessages } from "./messages.ts"

/** Error page for a page that failed to render. The app shell remains. */
const ErrorPage = ({ error, reset }: ErrorComponentProps) => {
  const messages = useMessages(appMessages)
  return (
    <PageFrame title={messages.broken}>
      {error instanceof CorralError ? (
        <RefusalNote error={error} />
      ) : (
        <p className="page-hint">{messages.brokenHint}</p>
      )}
      <div className="form-actions">
        <button type="button" className="button primary" onClick={reset}>
          {messages.again}
        </button>
        <Link to="/" className="button">
          {messages.toHome}
        </Link>
      </div>
    </PageFrame>
  )
}

/** Page for unknown URLs. */
const NotFoundPage = () => {
  const messages = useMessages(appMessages)
  return (
    <PageFrame title={messages.notFound}>
      <p className="page-hint">{messages.notFoundHint}</p>
      <Link to="/" className="button primary">
        {messages.toHome}
      </Link>
    </PageFrame>
  )
}

const ProjectPage = lazyRouteComponent(() => import("../project/ProjectPage.tsx"), "ProjectPage")
const SessionPage = lazyRouteComponent(() => import("../session/SessionPage.tsx"), "SessionPage")
const HomePage = lazyRouteComponent(() => import("../home/HomePage.tsx"), "HomePage")
const StartPage = lazyRouteComponent(() => import("../home/HomePage.tsx"), "StartPage")
const BoardPage = lazyRouteComponent(() => import("../board/BoardPage.tsx"), "BoardPage")
const RunsPage = lazyRouteComponent(() => import("../runs/RunsPage.tsx"), "RunsPage")
const RunPage = lazyRouteComponent(() => import("../thread/RunPage.tsx"), "RunPage")
const OpenQuestions = lazyRouteComponent(() => import("../home/OpenQuestions.tsx"), "OpenQuestions")
const ApprovalsPage = lazyRouteComponent(() => import("../approval/ApprovalsPage.tsx"), "ApprovalsPage")
const TaskPage = lazyRouteComponent(() => import("../task/TaskPage.tsx"), "TaskPage")
const DevicePresetsPage = lazyRouteComponent(
  () => import("../device/DevicePresetsPage.tsx"),
  "DevicePresetsPage"
)
const ComparePage = lazyRouteComponent(() => import("../compare/ComparePage.tsx"), "ComparePage")
const AuditPage = lazyRouteComponent(() => import("../audit/AuditPage.tsx"), "AuditPage")
const UsagePage = lazyRouteComponent(() => import("../usage/UsagePage.tsx"), "UsagePage")

const root = createRootRoute({ component: Shell, notFoundComponent: NotFoundPage })
const parent = { getParentRoute: () => root }

/** Remounts a page when an id in its path changes, so that no state of the previous page remains. */
const pathParams = ({ params }: { readonly params: object }): object => params

/** The home page has no choices in its URL. */
const noChoice = {}

const pages = [
  createRoute({ ...parent, path: "/", component: () => <HomePage search={noChoice} isStart={false} /> }),
  createRoute({
    ...parent,
    path: "/projects",
    component: lazyRouteComponent(() => import("../project/ProjectsPage.tsx"), "ProjectsPage")
  }),
  createRoute({
    ...parent,
    path: "/projects/$projectId",
    validateSearch: pickSearchParams("tab"),
    remountDeps: pathParams,
    component: () => (
      <ProjectPage
        {...useParams({ from: "/projects/$projectId" })}
        tab={useSearch({ from: "/projects/$projectId" }).tab}
      />
    )
  }),
  createRoute({
    ...parent,
    path: "/sessions/$sessionId",
    validateSearch: pickSearchParams("panel", "run", "at"),
    remountDeps: pathParams,
    component: () => (
      <SessionPage
        {...useParams({ from: "/sessions/$sessionId" })}
        {...useSearch({ from: "/sessions/$sessionId" })}
      />
    )
  }),
  createRoute({
    ...parent,
    path: "/compare/$groupId",
    remountDeps: pathParams,
    component: () => <ComparePage {...useParams({ from: "/compare/$groupId" })} />
  }),
  createRoute({
    ...parent,
    path: "/start",
    validateSearch: pickSearchParams("projectId", "sessionId", "targetId", "workspace", "agentId"),
    component: () => <StartPage search={useSearch({ from: "/start" })} />
  }),
  createRoute({
    ...parent,
    path: "/board",
    validateSearch: pickSearchParams("projectId"),
    component: () => <BoardPage filter={useSearch({ from: "/board" })} />
  }),
  createRoute({
    ...parent,
    path: "/runs",
    validateSearch: pickSearchParams("projectId", "targetId", "state"),
    component: () => <RunsPage filter={useSearch({ from: "/runs" })} />
  }),
  createRoute({
    ...parent,
    path: "/runs/$runId",
    validateSearch: pickSearchParams("panel"),
    remountDeps: pathParams,
    component: () => (
      <RunPage {...useParams({ from: "/runs/$runId" })} {...useSearch({ from: "/runs/$runId" })} />
    )
  }),
  createRoute({
    ...parent,
    path: "/approvals",
    component: () => <ApprovalsPage above={<OpenQuestions />} />
  }),
  createRoute({
    ...parent,
    path: "/approvals/$approvalId",
    component: () => (
      <ApprovalsPage above={<OpenQuestions />} {...useParams({ from: "/approvals/$approvalId" })} />
    )
  }),
  createRoute({
    ...parent,
    path: "/tasks/$taskId",
    remountDeps: pathParams,
    component: () => <TaskPage {...useParams({ from: "/tasks/$taskId" })} />
  }),
  createRoute({
    ...parent,
    path: "/devices",
    component: lazyRouteComponent(() => import("../device/DevicesPage.tsx"), "DevicesPage")
  }),
  createRoute({
    ...parent,
    path: "/devices/$deviceId/presets",
    remountDeps: pathParams,
    component: () => <DevicePresetsPage {...useParams({ from: "/devices/$deviceId/presets" })} />
  }),
  createRoute({
    ...parent,
    path: "/audit",
    validateSearch: pickSearchParams("projectId", "actor", "action", "from", "to", "view"),
    component: () => <AuditPage filter={useSearch({ from: "/audit" })} />
  }),
  createRoute({
    ...parent,
    path: "/usage",
    validateSearch: pickSearchParams("projectId", "by", "days", "plot"),
    component: () => <UsagePage search={useSearch({ from: "/usage" })} />
  }),
  createRoute({
    ...parent,
    path: "/account",
    component: lazyRouteComponent(() => import("../account/AccountPage.tsx"), "AccountPage")
  })
] as const

export const router = createRouter({
  routeTree: root.addChildren(pages),
  defaultPreload: "intent",
  defaultErrorComponent: ErrorPage,
  defaultPendingComponent: Loading,
  scrollRestoration: true,
  scrollToTopSelectors: ["#content"]
})

declare module "@tanstack/react-router" {
  interface Register {
    router: typeof router
  }
}
