/** One run as it happens. */
import { Page } from "../ui/Page.tsx"

export const RunPage = ({ runId }: { readonly runId: string }) => <Page title={runId}>{null}</Page>
