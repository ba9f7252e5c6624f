/** The approvals that wait, one of them open. */
import { Page } from "../ui/Page.tsx"

export const ApprovalsPage = ({ approvalId }: { readonly approvalId?: string }) => (
  <Page title="Approvals">{approvalId}</Page>
)
