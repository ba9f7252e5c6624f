/** The side panel of a thread, loaded when it is first opened. */
import { lazy, Suspense } from "react"
import type { ReviewPanelProps } from "../review/ReviewPanel.tsx"
import { Loading } from "../ui/Loading.tsx"

const ReviewPanel = lazy(async () => {
  const { ReviewPanel: component } = await import("../review/ReviewPanel.tsx")
  return { default: component }
})

export const SidePanel = (props: ReviewPanelProps) => (
  <Suspense fallback={<Loading />}>
    <ReviewPanel {...props} />
  </Suspense>
)
