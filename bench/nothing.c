/* The floor: a program that starts and ends. */
int main(void)
{
	return 0;
}
