import { Page } from "../ui/Page.tsx"

export const TaskPage = ({ taskId }: { readonly taskId: string }) => <Page title="TaskPage">{taskId}</Page>
