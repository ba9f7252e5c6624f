/**
 * Root component: providers with the cache of Hub data, the gate that shows the pages to signed-in users and the sign-in page to others, and
 * routes: one record per page, and the pages for an unknown address and for a page that failed to render. Page code loads on demand.
 */
import { CorralError } from "@corral/client/http/CorralError"
import { pathOf } from "@corral/client/http/Endpoints"
import { hubPaths } from "@corral/client/hubPaths"
import { MutationCache, QueryCache, QueryClient, QueryClientProvider, useQuery } from "@tanstack/react-query"
import {
  type ErrorComponentProps,
  Link,
  RouterProvider,
  createRootRoute,
  createRoute,
  createRouter,
  lazyRouteComponent,
  useParams,
  useSearch
} from "@tanstack/react-router"
import type { ReactNode } from "react"
import { followAccount } from "../api/AccountStorage.ts"
import { currentUserQuery } from "../api/CurrentUser.ts"
import { LanguageProvider, useMessages } from "../text/Language.tsx"
import { Mark } from "../ui/Icon.tsx"
import { Loading } from "../ui/ListStates.tsx"
import { PageFrame } from "../ui/PageFrame.tsx"
import { RefusalNote } from "../ui/RefusalNote.tsx"
import { showStoredTheme } from "../ui/Theme.ts"
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
const OpenQuestions = lazyRouteComponent(() => import("../home/NeedsDecision.tsx"), "OpenQuestions")
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

/** Addresses of the pages. */
const router = createRouter({
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

/** Whether a retry may succeed. */
const isTransient = (error: Error): boolean =>
  error instanceof CorralError && ["unreachable", "overloaded", "rate_limited"].includes(error.code)

/** After an expired sign-in, reloads the user, so that the sign-in page opens. */
const onError = (error: Error): void => {
  if (error instanceof CorralError && error.code === "unauthorized")
    void queryClient.resetQueries({ queryKey: ["auth"], exact: false })
}

/**
 * Cache of Hub data. Keys start with the group of the contract (`["runs", …]`, `["approvals", …]`), so that a change notice can invalidate
 * the whole group.
 */
const queryClient: QueryClient = new QueryClient({
  queryCache: new QueryCache({ onError: (error, { queryKey }) => queryKey[0] !== "auth" && onError(error) }),
  mutationCache: new MutationCache({ onError }),
  defaultOptions: {
    queries: {
      staleTime: 15_000,
      refetchOnWindowFocus: true,
      retry: (failures, error) => failures < 2 && isTransient(error)
    },
    mutations: { retry: false }
  }
})

/** Address of the sign-in, which returns to the current URL. */
const loginAddress = (): string => {
  const { hash, pathname, search } = globalThis.location
  return pathOf(hubPaths.signIn.login[1], { query: { returnTo: pathname + search + hash } })
}

const SignInPage = () => {
  const messages = useMessages(appMessages)
  return (
    <main className="gate">
      <div className="gate-card">
        <Mark />
        <h1>Corral</h1>
        <p>{messages.tagline}</p>
        <a className="button primary" href={loginAddress()}>
          {messages.signIn}
        </a>
        <p className="quiet">{messages.signInHint}</p>
      </div>
    </main>
  )
}

/** Sign-in gate: shows the pages to signed-in users and the sign-in page to others. */
const SignInGate = ({ children }: { readonly children: ReactNode }) => {
  const { data, error, refetch } = useQuery(currentUserQuery)
  if (error instanceof CorralError && error.code === "unauthorized") return <SignInPage />
  if (data !== undefined) return children
  return (
    <main className="gate">
      {error === null ? <Loading /> : <RefusalNote error={error} again={() => void refetch()} />}
    </main>
  )
}

showStoredTheme()
followAccount()

/** Root component: providers, the gate that shows the pages to signed-in users and the sign-in page to others, and routes. */
export const App = () => (
  <LanguageProvider>
    <QueryClientProvider client={queryClient}>
      <SignInGate>
        <RouterProvider router={router} />
      </SignInGate>
    </QueryClientProvider>
  </LanguageProvider>
)
