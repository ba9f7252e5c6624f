/** Button below a list that loads its next page. */
interface Props {
  readonly label: string
  readonly isLoading: boolean
  readonly onMore: () => void
}

export const MoreButton = ({ isLoading, label, onMore }: Props) => (
  <button type="button" className="button more" disabled={isLoading} onClick={onMore}>
    {label}
  </button>
)
